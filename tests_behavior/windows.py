"""The expected rows of n-step returns in clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rlregress.probing.interface import Minibatch
from tests_behavior import clock
from tests_behavior.assertions import assert_field

_Place = tuple[float, float]


@dataclass(frozen=True)
class Window:
    """Up to n steps of one episode: float sum of rewards, and the step behind them."""

    rewards: float
    following: _Place
    terminated: bool
    discount: float


def compute_windows(
    steps: Mapping[_Place, bool],
    paid: Mapping[_Place, float],
    n: int,
    discount: float,
    terminates: bool,
    steps_per_batch: int,
) -> dict[_Place, Window]:
    """Return step -> the window that begins with it.

    Args:
        steps: every (environment, time) that was met -> the step ends an episode; in the order of
            the steps of each environment.
        paid: the reward of each.
        n: rewards of a whole window; one that meets an end is shorter.
        discount: of one step.
        terminates: the ends are terminations.
        steps_per_batch: windows also end with each batch of so many steps of an environment.
    """
    by_place = {}
    for number in {number for number, _ in steps}:
        own = [place for place in steps if place[0] == number]
        for first in range(len(own)):
            last = min(
                first + n - 1, (first // steps_per_batch + 1) * steps_per_batch - 1, len(own) - 1
            )
            ends = [k for k in range(first, last + 1) if steps[own[k]]]
            last = ends[0] if ends else last
            rewards = sum(discount ** (k - first) * paid[own[k]] for k in range(first, last + 1))
            by_place[own[first]] = Window(
                rewards,
                (number, float(clock.get_next_time(np.float64(own[last][1])))),
                bool(ends) and terminates,
                discount ** (last + 1 - first),
            )
    return by_place


def assert_windows(who: str, rows: Minibatch, windows_by_place: Mapping[_Place, Window]) -> None:
    """Assert that every row is the window that begins with its step."""
    __tracebackhide__ = True
    expected = [
        windows_by_place[tuple(map(float, observation))] for observation in rows.observations
    ]  # type: ignore[index]
    for name, values, true in (
        ("sum of rewards", rows.rewards, [window.rewards for window in expected]),
        ("next observation", rows.next_observations, [window.following for window in expected]),
        ("discount", rows.discounts, [window.discount for window in expected]),
        ("termination", rows.terminated, [window.terminated for window in expected]),
    ):
        assert values is not None, f"{who}: expected rows with the field {name}"
        assert_field(who, name, rows.observations, values, np.asarray(true))

"""Finds the observation whose value was used after the end of an episode of a clock."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rlregress.probing.interface import Minibatch
from tests_behavior import clock

FINAL = "its final observation"
RESET = "the observation of the reset"
BEFORE = "the observation before the step"
ANOTHER = "another environment"
NOTHING = "nothing"

_Place = tuple[float, float]
#: rewards, values and returns are single precision
_CLOSE = 1e-4


def list_source_places(number: float, time: float, environments: int) -> dict[str, _Place]:
    """Return source -> (environment, time), for right and wrong sources of the next value."""
    following = float(clock.get_next_time(np.float64(time)))
    return {
        FINAL: (number, following),
        RESET: (number, following - clock.TICK / 2),
        BEFORE: (number, time),
        ANOTHER: (number + 1 if number + 1 < max(environments, 2) else 0.0, following),
    }


def _list_ends(rows: Minibatch, steps: Mapping[_Place, bool]) -> list[tuple[int, _Place]]:
    """Return (row, place) of every row whose step ended an episode."""
    places = [
        (k, tuple(map(float, observation))) for k, observation in enumerate(rows.observations)
    ]
    return [(k, place) for k, place in places if steps[place]]  # type: ignore[index,misc]


def find_return_sources(
    rows: Minibatch, steps: Mapping[_Place, bool], discount: float, environments: int
) -> set[str]:
    """Return the sources that explain all one-step returns at the ends of episodes.

    Rows whose next observations were not read are left out.

    Args:
        rows: with values of one policy and returns with a lambda of 0.
        steps: every (environment, time) that was met -> the step ends an episode.
        discount: of the value.
        environments: how many clocks there are.
    """
    assert rows.values is not None
    assert rows.returns is not None
    places_read = [tuple(map(float, observation)) for observation in rows.observations]
    values: dict[tuple[float, ...], float] = dict(
        zip(places_read, map(float, rows.values), strict=True)
    )
    agree, fields = {FINAL, RESET, BEFORE, ANOTHER, NOTHING}, 0
    for row, (number, time) in _list_ends(rows, steps):
        candidates = list_source_places(number, time, environments)
        if {candidates[FINAL], candidates[RESET]} - set(values):
            continue
        fields += 1
        reward = number + time + float(np.clip(rows.actions[row, 0], -1.0, 1.0))
        behind = (float(rows.returns[row]) - reward) / discount
        worth = {name: values.get(place, np.nan) for name, place in candidates.items()}
        worth[NOTHING] = 0.0
        agree &= {name for name, value in worth.items() if abs(value - behind) < _CLOSE}
    assert fields > 1, "expected ends of episodes of which all that follows was read, found none"
    return agree


def find_next_sources(rows: Minibatch, steps: Mapping[_Place, bool], environments: int) -> set[str]:
    """Return the sources that explain all next observations at the ends of episodes."""
    assert rows.next_observations is not None
    assert rows.terminated is not None
    agree, values = {FINAL, RESET, BEFORE, ANOTHER, NOTHING}, 0
    for row, (number, time) in _list_ends(rows, steps):
        values += 1
        next_place = tuple(map(float, rows.next_observations[row]))
        same = {
            name
            for name, at in list_source_places(number, time, environments).items()
            if at == next_place
        }
        agree &= {NOTHING} if rows.terminated[row] else same
    assert values > 1, "expected ends of episodes to be read, found none"
    return agree


def assert_source(who: str, end: str, observed: set[str], expected: str) -> None:
    """Assert that the value after the end of an episode has the expected source alone."""
    __tracebackhide__ = True
    if observed != {expected}:
        spelled = " or ".join(sorted(observed)) or "no one source"
        raise AssertionError(
            f"{who}: expected the value behind {end} to be of {expected}, found it of {spelled}"
        )

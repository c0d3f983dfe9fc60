"""Running statistics of observations: exact, shared, frozen in an evaluation, and saved.

The framework's own normalisation around clocks, whose observations are known: what it counts is
compared with the mean and the variance of what the environments have shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import gymnasium
import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import Policy, RunningStatistics, Unsupported
from tests_behavior.clock import TIME, Clock
from tests_behavior.clock_trainings import is_on_policy, make_request
from tests_behavior.questions import expect_answer

pytestmark = pytest.mark.without_cells

ENVIRONMENTS = 3
#: dimensions of an observation: the number of the only environment has no variance
MOVING, ALL = slice(TIME, None), slice(None)
#: environment steps of each: two rollouts, or three collections
STEPS = {True: 16, False: 15}
#: A prior of 1e-4 samples of mean 0 and variance 1 moves what 24 observations say by less than
#: 1e-5; a decay of 0.9999 moves it by more than 1e-4.
TOLERANCE = 5e-5


@dataclass
class Observations:
    """The observations that environments have shown, in order.

    Attributes:
        every: all of them.
        ended: the places of those with which an episode ended.
    """

    every: list[np.ndarray] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)

    def compute_moments(self, with_ends: bool) -> np.ndarray:
        """Return mean and variance, [2, dimensions], with or without final observations."""
        rows = np.delete(np.array(self.every), () if with_ends else self.ended, axis=0)
        return np.array([rows.mean(0), rows.var(0)])


class ObservationRecorder(gymnasium.Wrapper[np.ndarray, np.ndarray, np.ndarray, np.ndarray]):
    """Notes the observations of an environment; of several resets in a row the last one."""

    def __init__(self, env: gymnasium.Env[Any, Any], listed: Observations) -> None:
        super().__init__(env)
        self._shown = listed
        self._reset_at: int | None = None

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        if self._reset_at is None:
            self._reset_at = len(self._shown.every)
            self._shown.every.append(observation)
        self._shown.every[self._reset_at] = observation
        return observation, info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        outcome = self.env.step(action)
        self._reset_at = None
        if outcome[2] or outcome[3]:
            self._shown.ended.append(len(self._shown.every))
        self._shown.every.append(outcome[0])
        return outcome


@cache
def collect_statistics(
    framework: Adapter, algorithm: str, environments: int
) -> tuple[RunningStatistics, Observations]:
    """Return the statistics after a short training, and the observations until its end."""
    shown, trained = Observations(), Observations()

    def make(number: int) -> ObservationRecorder:
        return ObservationRecorder(Clock(number), shown)

    def end(steps: int, policy: Policy) -> None:
        trained.every, trained.ended = list(shown.every), list(shown.ended)

    steps = STEPS[is_on_policy(framework, algorithm)]
    asked_for = make_request(framework, algorithm, make, environments, steps)
    asked_for = replace(asked_for, on_checkpoint=end)
    try:
        observed = framework.train.collect_running_statistics(asked_for, environments)
    except Unsupported as error:
        pytest.skip(str(error))
    return observed, trained


def assert_exact(who: str, observed: np.ndarray, shown: Observations, dimensions: slice) -> None:
    """Assert that statistics [2, all] are of the observations, with final ones or without.

    Whether those count is asked by ``normalisation.terminal_observation.statistics``.
    """
    __tracebackhide__ = True
    expected = [shown.compute_moments(with_ends)[:, dimensions] for with_ends in (False, True)]
    observed = observed[:, dimensions]
    if not any(np.allclose(observed, moments, rtol=0, atol=TOLERANCE) for moments in expected):
        spelled = " or ".join(str(moments.round(5).tolist()) for moments in expected)
        raise AssertionError(
            f"{who}: expected the mean and the variance {spelled} of what was observed, found "
            f"{observed.round(5).tolist()}"
        )


def assert_one_set_of_statistics(who: str, observed: np.ndarray, environments: int) -> None:
    """Assert that there is one set of statistics, [1, 2, dimensions]."""
    __tracebackhide__ = True
    if len(observed) != 1:
        raise AssertionError(
            f"{who}: expected one set of statistics of {environments} environments, found "
            f"{len(observed)}, with the means {observed[:, 0].round(3).tolist()}"
        )


def assert_same(who: str, when: str, observed: np.ndarray | None, trained: np.ndarray) -> None:
    """Assert that statistics are those of the training, [sets, 2, dimensions]."""
    __tracebackhide__ = True
    if observed is None or not np.array_equal(observed, trained):
        spelled = "none" if observed is None else str(observed.round(5).tolist())
        raise AssertionError(
            f"{who}: expected the statistics {trained.round(5).tolist()} of the training {when}, "
            f"found {spelled}"
        )


def test_running_statistics_are_exact(framework, algorithm):
    """Mean and variance are those of all observations of one environment until now."""
    who = f"{framework} {algorithm}"
    with expect_answer("normalisation.running", framework.name, algorithm):
        observed, shown = collect_statistics(framework, algorithm, 1)
        assert_exact(who, observed.trained[0], shown, MOVING)
    wrong = replace(shown, every=[*shown.every[:-1], shown.every[-1] + 0.1])
    with pytest.raises(AssertionError, match="expected the mean and the variance"):
        assert_exact(who, observed.trained[0], wrong, MOVING)


def test_environments_share_their_statistics(framework, algorithm):
    """Three environments have one set of statistics, of the observations of all of them."""
    who = f"{framework} {algorithm}"
    with expect_answer("normalisation.environments", framework.name, algorithm):
        observed, shown = collect_statistics(framework, algorithm, ENVIRONMENTS)
        assert_one_set_of_statistics(who, observed.trained, ENVIRONMENTS)
        assert_exact(who, observed.trained[0], shown, ALL)
    with pytest.raises(AssertionError, match="expected one set of statistics of 3 environments"):
        assert_one_set_of_statistics(who, np.concatenate([observed.trained] * 2), ENVIRONMENTS)


def test_an_evaluation_leaves_the_statistics(framework, algorithm):
    """Observations of an evaluation do not enter the statistics that normalise them."""
    who = f"{framework} {algorithm}"
    with expect_answer("normalisation.frozen", framework.name, algorithm):
        observed, _ = collect_statistics(framework, algorithm, 1)
        assert_same(who, "in an evaluation", observed.evaluated, observed.trained)
    with pytest.raises(AssertionError, match="of the training in an evaluation, found"):
        assert_same(who, "in an evaluation", observed.trained + 0.001, observed.trained)


def test_statistics_are_saved_with_the_agent(framework, algorithm):
    """A loaded agent normalises as the saved one did."""
    who = f"{framework} {algorithm}"
    with expect_answer("normalisation.saved", framework.name, algorithm):
        observed, _ = collect_statistics(framework, algorithm, 1)
        assert_same(who, "in what is loaded", observed.restored, observed.trained)
    for wrong in (None, observed.trained + 0.001):
        with pytest.raises(AssertionError, match="of the training in what is loaded, found"):
            assert_same(who, "in what is loaded", wrong, observed.trained)

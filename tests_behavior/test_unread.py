"""NaN where nothing may be read: if it is read, it ends up in every weight."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from tests_behavior.clock import Clock
from tests_behavior.clock_trainings import make_request
from tests_behavior.limit import LimitIs
from tests_behavior.questions import expect_answer

pytestmark = pytest.mark.without_cells


class NaNAsFinal(gymnasium.Wrapper):
    """The final observation of an episode is NaN."""

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            observation = np.full_like(observation, np.nan)
        return observation, reward, terminated, truncated, info


class NaNAsFirst(gymnasium.Wrapper):
    """The first observation of an episode is NaN."""

    def reset(self, **options: Any) -> Any:
        observation, info = self.env.reset(**options)
        return np.full_like(observation, np.nan), info


def compute_share_of_nan(framework: Adapter, algorithm: str, make: Callable[[int], Any]) -> float:
    """Train; return the share of parameters that are NaN."""
    asked_for = make_request(framework, algorithm, make, 1, 40, minibatch_size=8)
    try:
        parameters = framework.train.train(asked_for).parameters.values()
    except (ValueError, RuntimeError) as error:
        # what networks full of NaN say is refused by distributions of torch, or by what they draw
        # with, where TorchRL was imported, which switches their checks off
        if "nan" not in str(error).lower() and "expects all elements of std" not in str(error):
            raise
        return 1.0
    count = sum(parameter.size for parameter in parameters)
    return sum(np.isnan(parameter).sum() for parameter in parameters) / count


def assert_nothing_read(who: str, hidden: str, share: float) -> None:
    """Assert that no parameter is NaN."""
    __tracebackhide__ = True
    if share:
        raise AssertionError(
            f"{who}: expected nothing to be read of {hidden}, found {share:.0%} of the parameters "
            "to be NaN"
        )


def _make_faulty_clock(fault: Callable[..., Any], limit_is: LimitIs, number: int) -> Any:
    return fault(Clock(number, limit_is))


@pytest.mark.two_algorithms_by_day
@pytest.mark.parametrize("limit_is", [LimitIs.TERMINATION, LimitIs.BOTH], ids=lambda k: k.value)
def test_nothing_is_read_of_a_terminal_observation(framework, algorithm, limit_is):
    """An observation that a termination has led to, all NaN, reaches no weight."""
    who = f"{framework} {algorithm}"
    kind = "terminal" if limit_is is LimitIs.TERMINATION else "terminal_and_truncated"
    with expect_answer(f"unread.{kind}", framework.name, algorithm):
        share = compute_share_of_nan(
            framework, algorithm, partial(_make_faulty_clock, NaNAsFinal, limit_is)
        )
        assert_nothing_read(who, "terminal observations", share)


@pytest.mark.two_algorithms_by_day
def test_what_is_read_of_a_first_observation_is_seen(framework, algorithm):
    """Control: a first observation that is NaN reaches the weights."""
    who = f"{framework} {algorithm}"
    share = compute_share_of_nan(
        framework, algorithm, partial(_make_faulty_clock, NaNAsFirst, LimitIs.TRUNCATION)
    )
    with pytest.raises(AssertionError, match="of the parameters to be NaN"):
        assert_nothing_read(who, "first observations", share)

"""Time limits: a truncated episode is worth what would follow, a terminated one is not.

In the ring every step gives reward 1 and episodes are ended after 8 steps. If the end is a
truncation, the value of every state is 1 / (1 - discount). If the very same end is a termination,
it is (1 - discount^n) / (1 - discount) with n steps left. A discount of 0.5 makes them 2, and from
1.99 down to 1; the 0.9 of the frameworks that are not SB3 or TorchRL makes them 10, and from 5.70
down to 1.

False alarms: a test trains with seed 0 unless ``--random-seed`` moves it. A value may be 0.4 away
from the exact one. The largest distance was 0.19 in 50 trainings of SB3 (five algorithms, five
seeds, both kinds of end), 0.24 in 24 of TorchRL's PPO, SAC, TD3 and DDPG (3 seeds), 0.26 in 76 of
skrl, RSL-RL and SB3-Contrib (3 to 8 seeds), and 0.23 in 36 of CleanRL (3 to 5 seeds).

It sees an end that is taken for the other kind (1 away in the last state, at a discount of 0.5) and
a bootstrap that is not discounted (3 there). At 0.5 it does not see one that is missing at every
tenth limit (1.9 there): that every row says how its step ended is tested in test_minibatches.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import TrainingRequest
from rlregress.probing.isolation import shift_seed
from tests_behavior.action_spaces import adapt_actions
from tests_behavior.assertions import assert_values_near
from tests_behavior.limit import LimitIs
from tests_behavior.ring import (
    Ring,
    finite_horizon_values,
    infinite_horizon_value,
    list_observations,
)
from tests_behavior.toy_settings import load_setting

pytestmark = pytest.mark.without_cells

#: how far a learned value may be away from the exact one
TOLERANCE = 0.4


def compute_true_values(discount: float, ends: bool) -> float | np.ndarray:
    """Return the values of the states; ``ends``: the limit is the end of the task."""
    return finite_horizon_values(discount) if ends else infinite_horizon_value(discount)


def assert_values_learned(framework: Adapter, algorithm: str, limit_is: LimitIs) -> None:
    """Train; assert that the critic has learned the true values of the eight states.

    The values of the other kind of end must not pass.
    """
    __tracebackhide__ = True
    who, options = f"{framework} {algorithm}", load_setting(framework.name, "time_limit", algorithm)
    discount = options.hyperparameters["discount"]
    trained = framework.train.train(
        TrainingRequest(
            algorithm=algorithm,
            make_env=lambda: adapt_actions(algorithm, Ring(limit_is)),
            hyperparameters=options.hyperparameters,
            total_steps=options.total_steps,
            seed=shift_seed(0),
        )
    )
    values = trained.value(list_observations())
    ends = limit_is is LimitIs.TERMINATION or options.truncation_is_termination
    kind = f"the limit is a {limit_is.value}"
    assert_values_near(who, kind, values, compute_true_values(discount, ends), TOLERANCE)
    with pytest.raises(AssertionError, match=f"^{who}, control: expected the values "):
        assert_values_near(
            who, "control", values, compute_true_values(discount, not ends), TOLERANCE
        )


def test_truncation_does_not_end_the_task(framework, algorithm):
    """A truncation leaves the values those of the endless task, unless documented to end it."""
    assert_values_learned(framework, algorithm, LimitIs.TRUNCATION)


def test_termination_ends_the_task(framework, algorithm):
    """The same limit reported as termination gives the values of a task that ends, far below."""
    assert_values_learned(framework, algorithm, LimitIs.TERMINATION)

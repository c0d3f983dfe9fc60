"""How much is done with several environments: steps, rows, gradient steps, policy updates.

40 steps over all environments, of 1, 2 or 4 of them. A rollout or a collection is five steps of
each environment. PPO's minibatches stay as large as they are, so that the number of its updates
does not depend on the environments; off-policy algorithms update after every so many vectorised
steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.probing.heads import Heads
from rlregress.probing.interface import TrainingRequest
from rlregress.probing.isolation import shift_seed
from rlregress.probing.scripted import Scripted
from tests_behavior.action_spaces import DISCRETE
from tests_behavior.questions import expect_answer
from tests_behavior.toy_settings import ONE_ENVIRONMENT, load_setting

pytestmark = pytest.mark.without_cells

STEPS = 40


@dataclass(frozen=True)
class Counts:
    """The counts of a training.

    Attributes:
        steps: of all environments.
        environments: how many of them were stepped.
        rows: that were stored.
        gradient_steps: of what is trained most often.
        policy_updates: of the output layer of the policy, of DQN of the action values.
    """

    steps: int
    environments: int
    rows: int
    gradient_steps: int
    policy_updates: int


@cache
def count_training(framework: Adapter, algorithm: str, environments: int) -> Counts:
    """Train, and count the steps of environments and optimisers."""
    received: list[list[np.ndarray]] = []
    stepped: dict[int, int] = {}
    policy: list[int] = []

    def make() -> Scripted:
        received.append([])
        return Scripted(received=received[-1], discrete=2 if algorithm in DISCRETE else 0)

    def prepare(heads: Heads) -> None:
        policy.append(id(heads.location.weight))

    def count_step(optimizer: Any, arguments: Any, keywords: Any) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    stepped[id(parameter)] = stepped.get(id(parameter), 0) + 1

    hyperparameters = load_setting(framework.name, "counts", algorithm).hyperparameters
    asked_for = TrainingRequest(
        algorithm, make, hyperparameters, STEPS, seed=shift_seed(0), prepare=prepare
    )
    handle = register_optimizer_step_pre_hook(count_step)
    try:
        stored = framework.train.collect_transitions(asked_for, environments)
    finally:
        handle.remove()
    return Counts(
        steps=sum(map(len, received)),
        environments=sum(bool(actions) for actions in received),
        rows=stored.rewards.size,
        gradient_steps=max(stepped.values()),
        policy_updates=stepped[policy[0]],
    )


def compute_counts(framework: Adapter, algorithm: str, environments: int) -> Counts:
    """Return the documented counts for a number of environments."""
    options = load_setting(framework.name, "counts", algorithm)
    hyperparameters = options.hyperparameters
    if algorithm == "ppo":
        updates = policy = hyperparameters["epochs"] * STEPS // hyperparameters["minibatch_size"]
    else:
        collections = STEPS // (environments * hyperparameters["steps_per_collection"])
        updates = (collections - options.collections_before_updates) * hyperparameters[
            "updates_per_collection"
        ]
        policy_delay = hyperparameters.get("policy_delay", 1)
        policy = updates // policy_delay * (1 if options.delay_leaves_out else policy_delay)
    return Counts(STEPS, environments, STEPS, updates, policy)


def assert_counts(who: str, environments: int, observed: Counts, expected: Counts) -> None:
    """Assert that all counts are as documented."""
    __tracebackhide__ = True
    if observed != expected:
        raise AssertionError(
            f"{who}, {environments} environments: expected {vars(expected)}, found {vars(observed)}"
        )


@pytest.mark.two_algorithms_by_day
@pytest.mark.parametrize("environments", [1, 2, 4])
def test_counts_are_the_documented_function(framework, algorithm, environments):
    """Steps, rows, gradient steps and policy updates are those of so many environments."""
    who = f"{framework} {algorithm}"
    options = load_setting(framework.name, "counts", algorithm)
    if options.limit_environments(environments) < environments:
        # what is documented not to be taken is refused, and not taken in silence
        with pytest.raises((AssertionError, UserError), match="num_envs|vectorized envs are not"):
            count_training(framework, algorithm, environments)
        pytest.skip(ONE_ENVIRONMENT)
    with expect_answer("counts.updates", framework.name, algorithm):
        observed = count_training(framework, algorithm, environments)
        assert_counts(
            who, environments, observed, compute_counts(framework, algorithm, environments)
        )
    wrong = compute_counts(framework, algorithm, 8 // environments if environments != 2 else 1)
    with pytest.raises(AssertionError, match=f"{environments} environments: expected "):
        assert_counts(who, environments, observed, wrong)

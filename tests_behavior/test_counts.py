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
from tests_behavior.action_spaces import CHOOSING
from tests_behavior.questions import asked
from tests_behavior.toy_settings import ONE_ENVIRONMENT, setting

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
    """A training whose environments and optimisers are watched."""
    received: list[list[np.ndarray]] = []
    stepped: dict[int, int] = {}
    policy: list[int] = []

    def make() -> Scripted:
        received.append([])
        return Scripted(received=received[-1], discrete=2 if algorithm in CHOOSING else 0)

    def prepare(heads: Heads) -> None:
        policy.append(id(heads.location.weight))

    def note(optimizer: Any, arguments: Any, keywords: Any) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    stepped[id(parameter)] = stepped.get(id(parameter), 0) + 1

    hyperparameters = setting(framework.name, "counts", algorithm).hyperparameters
    asked_for = TrainingRequest(
        algorithm, make, hyperparameters, STEPS, seed=shift_seed(0), prepare=prepare
    )
    handle = register_optimizer_step_pre_hook(note)
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


def documented(framework: Adapter, algorithm: str, environments: int) -> Counts:
    """The documented function of the number of environments."""
    options = setting(framework.name, "counts", algorithm)
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
    """Everything that was counted is as documented."""
    __tracebackhide__ = True
    if observed != expected:
        raise AssertionError(
            f"{who}, {environments} environments: expected {vars(expected)}, found {vars(observed)}"
        )


@pytest.mark.nightly
@pytest.mark.parametrize("environments", [1, 2, 4])
def test_counts_are_the_documented_function(framework, algorithm, environments):
    """Steps, rows, gradient steps and policy updates are those of so many environments."""
    who = f"{framework} {algorithm}"
    if setting(framework.name, "counts", algorithm).environments(environments) < environments:
        # what is documented not to be taken is refused, and not taken in silence
        with pytest.raises((AssertionError, UserError), match="num_envs|vectorized envs are not"):
            count_training(framework, algorithm, environments)
        pytest.skip(ONE_ENVIRONMENT)
    with asked("counts.updates", framework.name, algorithm):
        observed = count_training(framework, algorithm, environments)
        assert_counts(who, environments, observed, documented(framework, algorithm, environments))
    wrong = documented(framework, algorithm, 8 // environments if environments != 2 else 1)
    with pytest.raises(AssertionError, match=f"{environments} environments: expected "):
        assert_counts(who, environments, observed, wrong)

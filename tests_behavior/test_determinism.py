"""Determinism: a seed decides the whole training, and watching it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
import torch

from rlregress.frameworks.base import Adapter
from rlregress.inside.evaluation import Evaluator
from rlregress.probing.interface import Checkpoint, Policy, TrainingRequest
from rlregress.probing.isolation import shift_seed
from tests_behavior.action_spaces import make_task
from tests_behavior.assertions import assert_other_parameters, assert_same_parameters
from tests_behavior.toy_settings import load_setting

pytestmark = pytest.mark.without_cells


def train_parameters(
    framework: Adapter, algorithm: str, seed: int, on_checkpoint: Checkpoint | None = None
) -> Mapping[str, np.ndarray]:
    """Return all parameters after a training; ``on_checkpoint`` is called twice in it."""
    options = load_setting(framework.name, "determinism", algorithm)
    watching = {} if on_checkpoint is None else {"on_checkpoint": on_checkpoint}
    request = TrainingRequest(
        algorithm=algorithm,
        make_env=lambda: make_task(algorithm),
        hyperparameters=options.hyperparameters,
        total_steps=options.total_steps,
        seed=seed,
        checkpoints=() if on_checkpoint is None else (16, 32),
        **watching,
    )
    return framework.train.train(request).parameters


@cache
def train_plain(framework: Adapter, algorithm: str) -> Mapping[str, np.ndarray]:
    """Return the parameters after a training with seed 1, which several tests use."""
    return train_parameters(framework, algorithm, seed=shift_seed(1))


@cache
def train_evaluated(framework: Adapter, algorithm: str) -> Mapping[str, np.ndarray]:
    """Return the parameters after the same training, with an evaluation at each checkpoint."""
    evaluator = Evaluator(lambda: make_task(algorithm), episodes=2)
    evaluated = []

    def evaluate(steps: int, policy: Policy) -> None:
        evaluated.append((steps, [e.total for e in evaluator.play_episodes(policy)]))

    trained = train_parameters(framework, algorithm, shift_seed(1), evaluate)
    evaluator.close_environments()
    assert [steps for steps, _ in evaluated] == [16, 32]
    assert all(np.all(np.isfinite(returns)) for _, returns in evaluated)
    return trained


def test_the_same_seed_gives_the_same_parameters(framework, algorithm):
    """Two trainings with one seed end with identical parameters, to the bit."""
    who = f"{framework} {algorithm}"
    first = train_plain(framework, algorithm)
    try:
        assert_same_parameters(who, "seed 1 twice", first, train_evaluated(framework, algorithm))
    except AssertionError:
        # the evaluations may have done that
        repeated = train_parameters(framework, algorithm, shift_seed(1))
        assert_same_parameters(who, "seed 1 twice", first, repeated)


def test_another_seed_gives_other_parameters(framework, algorithm):
    """Control: with another seed the same training ends with other parameters."""
    who = f"{framework} {algorithm}"
    second = train_parameters(framework, algorithm, seed=shift_seed(2))
    assert_other_parameters(who, "seeds 1 and 2", train_plain(framework, algorithm), second)
    with pytest.raises(AssertionError, match=f"^{who}, control: expected parameters identical"):
        assert_same_parameters(who, "control", train_plain(framework, algorithm), second)


def test_evaluation_does_not_disturb_the_training(framework, algorithm):
    """A training that is evaluated in between is identical to one that is not, to the bit."""
    who = f"{framework} {algorithm}"
    first, evaluated = train_plain(framework, algorithm), train_evaluated(framework, algorithm)
    assert_same_parameters(who, "without and with evaluations", first, evaluated)


def test_a_disturbance_in_between_is_seen(framework, algorithm):
    """Control: one random number drawn at a checkpoint changes the parameters."""
    who = f"{framework} {algorithm}"

    def draw(steps: int, policy: object) -> None:
        torch.rand(1)
        np.random.random()

    disturbed = train_parameters(framework, algorithm, seed=shift_seed(1), on_checkpoint=draw)
    assert_other_parameters(
        who, "without and with a draw", train_plain(framework, algorithm), disturbed
    )

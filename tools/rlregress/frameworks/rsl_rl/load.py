"""Files that RSL-RL saves: a runner with its optimizer and normalisers.

Names of parameters differ between its versions. What is compared is what an agent does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import Vectorised, make_runner
from rlregress.frameworks.rsl_rl.train import training
from rlregress.probing.file_kinds import FileKind, Item, TrainingWithFiles

_STEPS = 16
_ALGORITHM: dict[str, Any] = {
    "class_name": "PPO",
    "num_learning_epochs": 2,
    "num_mini_batches": 2,
    "schedule": "adaptive",
    "desired_kl": 0.01,
    "entropy_coef": 0.01,
}


def _make_runner(algorithm: Mapping[str, Any], make_env: Callable[..., Any], seed: int) -> Any:
    torch.manual_seed(seed)
    environment = Vectorised(make_env(), make_env(), seed=seed, clips=True)
    networks = compat.Networks(hidden=[8, 8], normalised=True)
    return make_runner(environment, _STEPS, networks, **algorithm)


def _train_new_runner(algorithm: Mapping[str, Any], make_env: Callable[..., Any], seed: int) -> Any:
    runner = _make_runner(algorithm, make_env, seed)
    training.train_for_steps(runner, 4 * _STEPS)
    return runner


def _load_runner(algorithm: Mapping[str, Any], make_env: Callable[..., Any], path: str) -> Any:
    # of another seed: what is not loaded is another number
    runner = _make_runner(algorithm, make_env, 7)
    runner.load(path)
    return runner


def _compute_actions_and_values(runner: Any) -> dict[str, Any]:
    observations = np.random.default_rng(0).normal(size=(8, runner.env.num_obs))
    agent = training.make_trained_agent(runner, 0, {})
    actions, values = agent.policy(observations), agent.value(observations)
    return {"deterministic actions": actions, "values": values}


def _list_items_of_runner(runner: Any) -> Iterator[Item]:
    load = type(runner).load
    yield "iteration", int(runner.current_learning_iteration), load
    for name, numbers in _compute_actions_and_values(runner).items():
        yield name, numbers, load


def _list_items_of_continued_training(runner: Any) -> Iterator[Item]:
    torch.manual_seed(3)
    training.train_for_steps(runner, 2 * _STEPS)
    yield "continued training", _compute_actions_and_values(runner), type(runner.alg).update


def _make_training_with_files(name: str, algorithm: Mapping[str, Any]) -> TrainingWithFiles:
    kind = FileKind(
        name, "OnPolicyRunner.save and OnPolicyRunner.load", partial(_load_runner, algorithm),
        _list_items_of_runner, _list_items_of_continued_training, file="agent.pt",
    )  # fmt: skip
    return TrainingWithFiles(partial(_train_new_runner, algorithm), [kind])


def list_trainings_with_files() -> Mapping[str, Sequence[TrainingWithFiles]]:
    """Return the files of built-in trainings, by algorithm."""
    # here: what adapters lack is listed without the library
    curious = {**_ALGORITHM, "rnd_cfg": compat.make_curiosity(weight=0.5)}
    kinds = {"ppo runner": _ALGORITHM, "ppo runner with curiosity": curious}
    return {"ppo": [_make_training_with_files(*kind) for kind in kinds.items()]}

"""Environments within the transforms that normalise, and the PPO program with its evaluation."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import SerialEnv, TensorDict, TransformedEnv, VecNorm
from rlregress.frameworks.torchrl.known_networks import FixedLocScale
from rlregress.frameworks.torchrl.observe.helpers.ppo_trainings import make_gaussian_models
from rlregress.frameworks.torchrl.observe.helpers.tiny_trainers import SINGLE
from rlregress.frameworks.torchrl.scripted_environments import (
    REGISTERED,
    register_environment,
    wrap_environment,
)
from rlregress.measurements.normalisation import (
    Script,
    Walked,
    count_steps_of_script,
    make_script_of_observations,
)
from rlregress.probing.scripted import Scripted


def make_transformed_environment(script: Script, *transforms: Any) -> TransformedEnv:
    """Return an environment that plays a script, wrapped in these transforms."""
    environment = TransformedEnv(wrap_environment(Scripted(**script)))
    for transform in transforms:
        environment.append_transform(transform)
    return environment


def walk_through_environment(environment: Any, steps: int) -> Walked:
    """Roll out one environment, or several side by side; return observations and rewards."""
    rollout = environment.rollout(steps, break_when_any_done=False)
    last = rollout["next", "observation"][..., -1:, :]
    observations = torch.cat([rollout["observation"], last], -2)
    tables = (observations, rollout["next", "reward"])
    # environments are the first dimension, where there are several
    shown, paid = (own.movedim(-2, 0).reshape(own.shape[-2], -1).double().numpy() for own in tables)
    return Walked(shown, paid)


def walk_through_normalised(
    scripts: Sequence[Script], norm: Any = VecNorm, **options: Any
) -> Walked:
    """Return observations and rewards of scripted environments that ``norm`` normalises."""
    makers = [lambda own=script: wrap_environment(Scripted(**own)) for script in scripts]
    environment = SerialEnv(len(makers), makers) if len(makers) > 1 else makers[0]()
    normalised = TransformedEnv(environment)
    for key in ("observation", "reward"):
        normalised.append_transform(norm(in_keys=[key], **options))
    return walk_through_environment(normalised, count_steps_of_script(scripts[0]))


def pass_numbers_through_transforms(
    transforms: Sequence[Any], key: str, numbers: Any
) -> np.ndarray:
    """Return the results of transforms for a long stream of numbers, without environment."""
    passed: list[float] = []
    for number in np.asarray(numbers, dtype=np.float32):
        row = TensorDict({key: torch.tensor([number])}, [])
        for transform in transforms:
            row = transform(row)
        passed.append(float(row[key]))
    return np.array(passed)


def make_program_environment(script: Script) -> Any:
    """Return an environment that plays a script, in the transforms of the PPO program."""
    with register_environment(partial(Scripted, **script, dtype=np.float64)) as name:
        return programs.load_program("ppo", "utils_mujoco").make_env(name)


class _RecordedGaussian(FixedLocScale):
    """A Gaussian around 0 that records the observations that it receives."""

    def __init__(self) -> None:
        super().__init__([0.0], [0.1], SINGLE)
        self.inputs: list[np.ndarray] = []

    def forward(self, observation: torch.Tensor) -> Any:
        self.inputs.append(observation.detach().double().numpy().reshape(-1))
        return super().forward(observation)


def run_ppo_program_with_evaluation(training: Any, evaluation: Script) -> tuple[np.ndarray, Any]:
    """Run the PPO program with one rollout as its training, and an evaluation at its end.

    Returns:
        The observations that the actor was given in the evaluation, in order; the checkpoint that
        the program saved, or None.
    """
    program = programs.load_program("ppo", "ppo_mujoco")
    network = _RecordedGaussian()
    models = make_gaussian_models(network)
    program.make_ppo_models = lambda *arguments, **options: models[:2]
    evaluate = program.eval_model
    evaluated: list[np.ndarray] = []

    def record_evaluation(*arguments: Any, **options: Any) -> Any:
        before = len(network.inputs)
        result = evaluate(*arguments, **options)
        evaluated[:] = network.inputs[before:]
        return result

    make, playbacks = program.make_env, [make_script_of_observations(training), evaluation]

    def make_next_environment(*arguments: Any, **options: Any) -> Any:
        # the environment of the training is made first, then that of the evaluation
        with register_environment(partial(Scripted, **playbacks.pop(0), dtype=np.float64)):
            return make(*arguments, **options)

    program.eval_model, program.make_env = record_evaluation, make_next_environment
    frames = len(training) - 1
    with tempfile.TemporaryDirectory(prefix="rlregress-") as folder:
        path = Path(folder) / "agent.pt"
        program.main(
            programs.make_ppo_settings(
                REGISTERED, frames, frames, normalize_observation=True, path=str(path)
            )
        )
        # none until 0.13
        checkpoint = torch.load(path, weights_only=False) if path.exists() else None
    return np.concatenate(evaluated), checkpoint

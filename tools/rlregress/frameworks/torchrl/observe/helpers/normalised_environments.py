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
from rlregress.frameworks.torchrl.api import TensorDict, TransformedEnv
from rlregress.frameworks.torchrl.known_networks import Constant, Numbers, box, policy, v_network
from rlregress.frameworks.torchrl.observe.helpers import tiny_trainers
from rlregress.frameworks.torchrl.scripted_environments import REGISTERED, registered, wrapped
from rlregress.probing.scripted import Scripted


def showing(observations: Any, **playback: Any) -> dict[str, Any]:
    """Return a playback whose reset gives observations[0] and whose step t gives [t + 1]."""
    x = np.asarray(observations)
    return {"observations": x[:-1], "next_observations": x[1:], **playback}


def transformed(playback: dict[str, Any], *transforms: Any) -> TransformedEnv:
    """A playback within transforms."""
    environment = TransformedEnv(wrapped(Scripted(**playback)))
    for transform in transforms:
        environment.append_transform(transform)
    return environment


def walk(environment: Any, steps: int) -> np.ndarray:
    """Observations of a reset and the steps after it, [steps + 1]; no end among them."""
    rollout = environment.rollout(steps, break_when_any_done=False)
    first = rollout["observation"][:1]
    return torch.cat([first, rollout["next", "observation"]])[:, 0].double().numpy()


def rewards(environment: Any, steps: int) -> np.ndarray:
    """Rewards of the first steps, [steps], through any end of an episode."""
    rollout = environment.rollout(steps, break_when_any_done=False)
    return rollout["next", "reward"][:, 0].double().numpy()


def through(transforms: Sequence[Any], key: str, numbers: Any) -> np.ndarray:
    """Return the results of transforms for a long stream of numbers, without environment."""
    passed: list[float] = []
    for number in np.asarray(numbers, dtype=np.float32):
        row = TensorDict({key: torch.tensor([number])}, [])
        for transform in transforms:
            row = transform(row)
        passed.append(float(row[key]))
    return np.array(passed)


def make_script_environment(playback: dict[str, Any]) -> Any:
    """The environment of the PPO program, made by its own function."""
    with registered(partial(Scripted, **playback, dtype=np.float64)) as name:
        return programs.load("ppo", "utils_mujoco").make_env(name)


class _Noting(Numbers):
    """A Gaussian around 0 that writes down the observations that it sees."""

    def __init__(self) -> None:
        super().__init__([0.0], [0.1], tiny_trainers.SINGLE)
        self.inputs: list[np.ndarray] = []

    def forward(self, observation: torch.Tensor) -> Any:
        self.inputs.append(observation.detach().double().numpy().reshape(-1))
        return super().forward(observation)


class Trained:
    """A run of the PPO program with one rollout as its training, and an evaluation at its end.

    Attributes:
        evaluated: the observations that the actor was given in the evaluation, in order.
        checkpoint: what the program saved.
    """

    def __init__(self, training: Any, evaluation: dict[str, Any]) -> None:
        from rlregress.frameworks.torchrl.api import IndependentNormal

        program = programs.load("ppo", "ppo_mujoco")
        network = _Noting()
        critic = v_network(Constant(0.0, dtype=tiny_trainers.SINGLE))
        actor = policy(network, box(-1.0, 1.0, tiny_trainers.SINGLE), IndependentNormal)
        program.make_ppo_models = lambda *arguments, **options: (actor, critic)
        evaluate = program.eval_model

        def recording(*arguments: Any, **options: Any) -> Any:
            before = len(network.inputs)
            result = evaluate(*arguments, **options)
            self.evaluated = np.concatenate(network.inputs[before:])
            return result

        make, playbacks = program.make_env, [showing(training), evaluation]

        def made(*arguments: Any, **options: Any) -> Any:
            # the environment of the training is made first, then that of the evaluation
            with registered(partial(Scripted, **playbacks.pop(0), dtype=np.float64)):
                return make(*arguments, **options)

        program.eval_model, program.make_env = recording, made
        with tempfile.TemporaryDirectory(prefix="rlregress-") as folder:
            path = Path(folder) / "agent.pt"
            frames = len(training) - 1
            program.main(
                programs.ppo_settings(
                    REGISTERED, frames, frames, normalize_observation=True, path=str(path)
                )
            )
            # none until 0.13
            self.checkpoint = torch.load(path, weights_only=False) if path.exists() else None

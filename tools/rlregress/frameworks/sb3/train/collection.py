"""Stored transitions of Stable-Baselines3: rollouts of PPO, replay rows of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.train import training
from rlregress.frameworks.sb3.train.training import OWN, Library
from rlregress.probing.interface import PLAIN, TrainingRequest, TrainingVariant, Transitions


class RolloutEndCallback(BaseCallback):
    """A callback that calls ``callback`` with the agent after each rollout, before its update."""

    def __init__(self, callback: Callable[[Any], None]) -> None:
        super().__init__()
        self._look = callback

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self._look(self.model)


def _wrap_in_normaliser(vectorised: Any, variant: TrainingVariant) -> Any:
    if variant.running:
        return VecNormalize(vectorised, norm_reward=False)
    if variant.statistics is None:
        return vectorised
    wrapped = VecNormalize(vectorised, training=False, norm_reward=False)
    mean, deviation = variant.statistics
    wrapped.obs_rms.mean, wrapped.obs_rms.var = mean, deviation**2
    return wrapped


def make_agent_of_request(
    request: TrainingRequest,
    environments: int,
    variant: TrainingVariant = PLAIN,
    library: Library = OWN,
) -> Any:
    """Return an untrained agent with ``environments`` copies of its environment."""
    variant.raise_if_unsupported(library.title, "n_steps", "statistics", "running")
    vectorised = _wrap_in_normaliser(gyms.make_vec_env(request.make_env, environments), variant)
    further = {"n_steps": variant.n_steps} if variant.n_steps > 1 else {}
    return training.make_agent_of_request(request, library, vectorised, **further)


def collect_transitions(
    request: TrainingRequest, environments: int, library: Library = OWN
) -> Transitions:
    """Train with ``learn``, and copy the rows of each rollout, or of the replay buffer."""
    model = make_agent_of_request(request, environments, library=library)
    rollouts: list[Any] = []

    def copy_rollout(model: Any) -> None:
        buffer = getattr(model, "rollout_buffer", None)
        if buffer is not None:
            # the buffer marks the first step of an episode, not the last one of the episode before
            done = compat.read_episode_starts_of_rollout(model)[1:]
            rollouts.append((buffer.observations.copy(), buffer.rewards.copy(), done))

    model.learn(request.total_steps, callback=RolloutEndCallback(copy_rollout))
    if rollouts:
        observations, rewards, done = map(np.stack, zip(*rollouts, strict=False))
        return Transitions(observations, None, rewards, done, None)
    buffer = model.replay_buffer
    steps = request.hyperparameters["steps_per_collection"]

    def flatten_rows(stored: np.ndarray) -> np.ndarray:
        written = stored[: buffer.size()].copy()
        return written.reshape(-1, steps, *written.shape[1:])

    done = flatten_rows(buffer.dones).astype(bool)
    return Transitions(
        observations=flatten_rows(buffer.observations),
        next_observations=flatten_rows(buffer.next_observations),
        rewards=flatten_rows(buffer.rewards),
        done=done,
        terminated=done & ~flatten_rows(compat.read_truncations(buffer)),
    )

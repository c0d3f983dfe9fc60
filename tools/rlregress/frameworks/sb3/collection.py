"""What Stable-Baselines3 stores while it learns: rollouts of PPO, replay rows of SAC and TD3."""

from __future__ import annotations

from typing import Any, List

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from rlregress.frameworks.base import TrainingRequest, Transitions
from rlregress.frameworks.sb3 import gyms, older
from rlregress.frameworks.sb3.training import ALGORITHMS, arguments_of


class _Rollouts(BaseCallback):
    """Copies every rollout between its collection and the update."""

    def __init__(self) -> None:
        super().__init__()
        self.observations: List[np.ndarray] = []
        self.rewards: List[np.ndarray] = []
        self.done: List[np.ndarray] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        buffer = getattr(self.model, "rollout_buffer", None)
        if buffer is None:
            return
        self.observations.append(buffer.observations.copy())
        self.rewards.append(buffer.rewards.copy())
        # the buffer marks the first step of an episode, not the last one of the episode before
        self.done.append(older.episode_starts(self.model)[1:])


def agent(request: TrainingRequest, environments: int) -> Any:
    """An agent that is to learn on ``environments`` copies in a ``DummyVecEnv``."""
    vectorised = gyms.make_vec_env(request.make_env, environments)
    arguments = arguments_of(
        request.algorithm, request.hyperparameters, vectorised.action_space.shape
    )
    made = ALGORITHMS[request.algorithm]
    model = made("MlpPolicy", vectorised, seed=request.seed, device="cpu", **arguments)
    older.silence(model)
    return model


def transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Learn with ``learn`` on ``environments`` copies in a ``DummyVecEnv``."""
    model = agent(request, environments)
    rollouts = _Rollouts()
    model.learn(request.total_steps, callback=rollouts)
    if rollouts.observations:
        return Transitions(
            observations=np.stack(rollouts.observations),
            next_observations=None,
            rewards=np.stack(rollouts.rewards),
            done=np.stack(rollouts.done),
            terminated=None,
        )
    buffer = model.replay_buffer
    steps = request.hyperparameters["steps_per_collection"]

    def rows(stored: np.ndarray) -> np.ndarray:
        written = stored[: buffer.size()].copy()
        return written.reshape(-1, steps, *written.shape[1:])

    done = rows(buffer.dones).astype(bool)
    return Transitions(
        observations=rows(buffer.observations),
        next_observations=rows(buffer.next_observations),
        rewards=rows(buffer.rewards),
        done=done,
        terminated=done & ~rows(older.truncations(buffer)),
    )

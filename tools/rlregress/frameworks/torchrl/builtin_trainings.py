"""Built-in trainings for traces: the library's trainers on settings that reach their rare branches.

Each trains twice: on one environment with an evaluation, and on two side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from torchrl.envs import GymWrapper

from rlregress.frameworks import memory_sizes
from rlregress.frameworks.base import TrainingRequest
from rlregress.frameworks.torchrl.collection import transitions
from rlregress.frameworks.torchrl.training import train

_SHARED = {"learning_rate": 1e-3, "adam_epsilon": 1e-8, "discount": 0.99, "hidden_sizes": [16, 16]}
_OFF_POLICY = {
    **_SHARED,
    "minibatch_size": 16,
    # full after two thirds of the training
    "replay_size": 120,
    "learning_starts": 40,
    "polyak_coefficient": 0.05,
    "steps_per_collection": 20,
    "updates_per_collection": 10,
    "critic_loss": "l2",
    "duplicate_critic": True,
}
SETTINGS: dict[str, dict[str, Any]] = {
    # 64 samples in minibatches of 24: the last one is incomplete
    "ppo": {
        **_SHARED,
        "rollout_steps": 64,
        "minibatch_size": 24,
        "epochs": 3,
        "gae_lambda": 0.95,
        "clip_range": 0.2,
        "value_clip_range": 0.2,
        "normalize_advantage": True,
        "entropy_coefficient": 0.01,
        "value_coefficient": 0.5,
        "value_loss": "l2",
        "max_gradient_norm": 0.5,
        "policy_gain": 1.0,
        "value_gain": 0.01,
    },
    "sac": {**_OFF_POLICY, "initial_temperature": 0.5, "target_entropy": "auto"},
    "td3": {
        **_OFF_POLICY,
        "exploration_noise": 0.1,
        "policy_delay": 2,
        "target_noise": 0.2,
        "target_noise_clip": 0.5,
    },
}


def _training(algorithm: str) -> Any:
    def training(make_env: Callable[..., Any], seed: int) -> None:
        settings = memory_sizes.sized(SETTINGS[algorithm])
        steps = 3 * settings.get("rollout_steps", 60)
        request = TrainingRequest(algorithm, make_env, settings, total_steps=steps, seed=seed)
        trained = train(request)
        environment = make_env()
        observation, _ = environment.reset()
        done = False
        while not done:
            (action,) = trained.policy(np.asarray(observation, dtype=np.float32)[None])
            observation, _, terminated, truncated, _ = environment.step(action)
            done = terminated or truncated
        beside = {**settings, "replay_size": 10 * steps} if algorithm != "ppo" else settings
        transitions(TrainingRequest(algorithm, make_env, beside, steps, seed), 2)

    return training


def warm_up() -> None:
    """Wrap an environment."""
    GymWrapper(gymnasium.make("CartPole-v1"), device="cpu").close()


TRAININGS = {algorithm: _training(algorithm) for algorithm in SETTINGS}

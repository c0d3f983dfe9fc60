"""Built-in trainings for traces: each reaches what its algorithm does only now and then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rlregress.frameworks import memory_sizes
from rlregress.frameworks.sb3 import gyms, user_code
from rlregress.frameworks.sb3.scenario_request import algorithm_named, made

#: environment steps of a training.
STEPS = 180


def _train(name: str, arguments: Callable[[], dict[str, Any]], discrete: bool) -> Any:
    def training(make_env: Callable[..., Any], seed: int) -> None:
        algorithm = algorithm_named(name)
        # two environments side by side: rows of both are mixed in what is stored
        environment: Any = DummyVecEnv([partial(_native, make_env, discrete)] * 2)
        if name == "ppo":
            environment = VecNormalize(environment)
        model = made(algorithm, "MlpPolicy", environment, seed=seed, **arguments())
        model.learn(STEPS)
        _evaluate(model, make_env(discrete=discrete))

    return training


def _native(make_env: Callable[..., Any], discrete: bool) -> Any:
    return gyms.native(make_env(discrete=discrete))


def _evaluate(model: Any, environment: Any) -> None:
    """Two episodes with the deterministic policy."""
    for _ in range(2):
        observation, _ = environment.reset()
        done = False
        while not done:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, _ = environment.step(action)
            done = terminated or truncated


def on_policy() -> dict[str, Any]:
    """Arguments of an algorithm that learns from rollouts; its rate falls."""
    rate = user_code.linear(1e-3)
    return {"n_steps": 32, "policy_kwargs": {"net_arch": [16, 16]}, "learning_rate": rate}


def ppo() -> dict[str, Any]:
    """Arguments of PPO."""
    # 64 samples in minibatches of 48: the last one is incomplete
    return {
        **on_policy(),
        "batch_size": 48,
        "n_epochs": 3,
        "clip_range": user_code.linear(0.2),
        "clip_range_vf": 0.2,
        "ent_coef": 0.01,
        "target_kl": 0.5,
    }


def off_policy() -> dict[str, Any]:
    """Arguments of an algorithm that learns from a replay buffer; its rate falls."""
    # 2 x 50 rows: the buffer is full after half of the training
    arguments = {
        "buffer_size": 100,
        "learning_starts": 20,
        "batch_size": 16,
        "gradient_steps": 2,
        "policy_kwargs": {"net_arch": [16, 16]},
        "learning_rate": user_code.linear(1e-3),
    }
    return memory_sizes.sized(arguments)


def noise() -> NormalActionNoise:
    """Noise of the two numbers of an action."""
    return NormalActionNoise(mean=np.zeros(2), sigma=0.1 * np.ones(2))


def sac() -> dict[str, Any]:
    """Arguments of SAC."""
    return {**off_policy(), "target_update_interval": 1, "action_noise": noise()}


def _td3() -> dict[str, Any]:
    return {**_ddpg(), "policy_delay": 2}


def _ddpg() -> dict[str, Any]:
    # the default was an episode before 2.3.0, which two environments do not allow
    return {**off_policy(), "train_freq": 1, "action_noise": noise()}


def dqn() -> dict[str, Any]:
    """Arguments of DQN."""
    return {**off_policy(), "target_update_interval": 40, "exploration_fraction": 0.5}


def _a2c() -> dict[str, Any]:
    return {**on_policy(), "n_steps": 5, "ent_coef": 0.01}


TRAININGS = {
    "ppo": _train("ppo", ppo, False),
    "a2c": _train("a2c", _a2c, True),
    "sac": _train("sac", sac, False),
    "td3": _train("td3", _td3, False),
    "ddpg": _train("ddpg", _ddpg, False),
    "dqn": _train("dqn", dqn, True),
}

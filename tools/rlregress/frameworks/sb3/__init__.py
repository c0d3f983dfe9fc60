"""Stable-Baselines3 (https://stable-baselines3.readthedocs.io)."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter


class StableBaselines3(Adapter):
    """Stable-Baselines3: PPO, SAC and TD3 with their own ``learn``."""

    name = "sb3"
    title = "Stable-Baselines3"
    packages = ("stable-baselines3", "torch")
    modules = ("stable_baselines3",)
    algorithms = ("ppo", "sac", "td3")
    scopes = ("library",)
    watched = (
        "stable_baselines3.common.vec_env.base_vec_env:VecEnv.reset",
        "stable_baselines3.common.vec_env.base_vec_env:VecEnv.step_wait",
        "stable_baselines3.common.vec_env.vec_normalize:VecNormalize.normalize_obs",
        "stable_baselines3.common.vec_env.vec_normalize:VecNormalize.normalize_reward",
    )
    in_one_process = {"SubprocVecEnv": "DummyVecEnv"}


ADAPTER = StableBaselines3()

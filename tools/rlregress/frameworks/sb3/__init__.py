"""Stable-Baselines3 (https://stable-baselines3.readthedocs.io)."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter, Framework

#: below ``stable_baselines3``.
_PUBLIC = (
    "a2c", "ddpg", "dqn", "her", "ppo", "sac", "td3", "dqn.policies", "sac.policies",
    "td3.policies", "common.atari_wrappers", "common.base_class", "common.buffers",
    "common.callbacks", "common.cmd_util", "common.distributions", "common.env_checker",
    "common.env_util", "common.evaluation", "common.monitor", "common.noise",
    "common.off_policy_algorithm", "common.on_policy_algorithm", "common.policies",
    "common.preprocessing", "common.running_mean_std", "common.sb2_compat.rmsprop_tf_like",
    "common.torch_layers", "common.utils", "common.vec_env",
)  # fmt: skip
#: Stable-Baselines3: PPO, SAC and TD3 with their own ``learn``.
ADAPTER = Adapter(
    "sb3",
    __name__,
    Framework(
        title="Stable-Baselines3",
        packages=("stable-baselines3", "torch"),
        modules=("stable_baselines3",),
        public=(
            "stable_baselines3",
            *(f"stable_baselines3.{module}" for module in _PUBLIC),
        ),
        algorithms=("ppo", "sac", "td3"),
        discrete=("ppo",),
        behavior_only=("dqn", "ddpg"),
        scopes=("library",),
        recorded_methods=(
            "stable_baselines3.common.vec_env.base_vec_env:VecEnv.reset",
            "stable_baselines3.common.vec_env.base_vec_env:VecEnv.step_wait",
            "stable_baselines3.common.vec_env.vec_normalize:VecNormalize.normalize_obs",
            "stable_baselines3.common.vec_env.vec_normalize:VecNormalize.normalize_reward",
            # what a training looks at
            "rlregress.frameworks.sb3.user_code:Capture.capture",
        ),
        logged=(
            "stable_baselines3.common.logger:Logger.record",
            "stable_baselines3.common.logger:Logger.record_mean",
            "stable_baselines3.common.monitor:ResultsWriter.write_row",
        ),
        stores_files=True,
        in_one_process={"SubprocVecEnv": "DummyVecEnv"},
    ),
)

"""Stable-Baselines3 (https://stable-baselines3.readthedocs.io)."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter, Framework

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
            *(
                f"stable_baselines3.{package}"
                for package in ("a2c", "ddpg", "dqn", "her", "ppo", "sac")
            ),
            "stable_baselines3.td3",
            *(f"stable_baselines3.{package}.policies" for package in ("dqn", "sac", "td3")),
            *(
                f"stable_baselines3.common.{module}"
                for module in (
                    "atari_wrappers",
                    "base_class",
                    "buffers",
                    "callbacks",
                    "cmd_util",
                    "distributions",
                    "env_checker",
                    "env_util",
                    "evaluation",
                    "monitor",
                    "noise",
                    "off_policy_algorithm",
                    "on_policy_algorithm",
                    "policies",
                    "preprocessing",
                    "running_mean_std",
                    "sb2_compat.rmsprop_tf_like",
                    "torch_layers",
                    "utils",
                    "vec_env",
                )
            ),
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

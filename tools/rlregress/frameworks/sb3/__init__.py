"""Stable-Baselines3 (https://stable-baselines3.readthedocs.io)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress.frameworks.base import Adapter


class StableBaselines3(Adapter):
    """Stable-Baselines3: PPO, SAC and TD3 with their own ``learn``."""

    name = "sb3"
    title = "Stable-Baselines3"
    packages = ("stable-baselines3", "torch")
    modules = ("stable_baselines3",)
    public = (
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
    )
    algorithms = ("ppo", "sac", "td3")
    discrete = ("ppo",)
    behavior_only = ("dqn", "ddpg")
    scopes = ("library",)
    recorded_methods = (
        "stable_baselines3.common.vec_env.base_vec_env:VecEnv.reset",
        "stable_baselines3.common.vec_env.base_vec_env:VecEnv.step_wait",
        "stable_baselines3.common.vec_env.vec_normalize:VecNormalize.normalize_obs",
        "stable_baselines3.common.vec_env.vec_normalize:VecNormalize.normalize_reward",
        # what a training looks at
        "rlregress.frameworks.sb3.user_code:Capture.capture",
    )
    logged = (
        "stable_baselines3.common.logger:Logger.record",
        "stable_baselines3.common.logger:Logger.record_mean",
        "stable_baselines3.common.monitor:ResultsWriter.write_row",
    )
    stores_files = True
    in_one_process = {"SubprocVecEnv": "DummyVecEnv"}

    @property
    def no_resume_reason(self) -> str:  # type: ignore[override]
        """Nothing from 2.0 on: ``learn`` has all of its state in the model between two rollouts."""
        before = int(self.version().partition(".")[0]) < 2
        return "that versions before 2.0 go on exactly is not known" if before else ""

    def saved_files(self) -> Mapping[str, Any]:
        """Agents, policies, replay buffers and normalisers."""
        return self._sibling("saved_agents").SAVED

    def user_agent(self, path: str) -> Any:
        """An agent of this library or of sb3-contrib, of the algorithm that its file names."""
        return self._sibling("saved_agents").user_agent(path)

    def settings_of(self, agent: Any) -> Mapping[str, Any]:
        """Public attributes that are no networks, environments or buffers."""
        return self._sibling("saved_agents").settings_of(agent)

    def other_defaults(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """Arguments of A2C, DDPG and DQN, and what their optimisers and networks are made with."""
        return self._sibling("other_defaults").values()


ADAPTER = StableBaselines3()

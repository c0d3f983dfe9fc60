"""Stable-Baselines3 (https://stable-baselines3.readthedocs.io)."""

from __future__ import annotations

from typing import Any

from rlregress.frameworks.base import Adapter


class StableBaselines3(Adapter):
    """Stable-Baselines3: PPO, SAC and TD3 with their own ``learn``."""

    name = "sb3"
    title = "Stable-Baselines3"
    packages = ("stable-baselines3", "torch")
    modules = ("stable_baselines3",)
    algorithms = ("ppo", "sac", "td3")
    scopes = ("library",)

    def trace_scenario(self, scenario: Any, make_env: Any, seed: int) -> None:
        """Train with the library's own classes through what a scenario switches on."""
        self._beside("scenarios").trace(scenario, make_env, seed)


ADAPTER = StableBaselines3()

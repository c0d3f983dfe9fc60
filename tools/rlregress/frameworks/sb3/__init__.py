"""Stable-Baselines3 (https://stable-baselines3.readthedocs.io)."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter, Trained, TrainingRequest, Transitions


class StableBaselines3(Adapter):
    """Stable-Baselines3: PPO, SAC and TD3 with their own ``learn``."""

    name = "sb3"
    title = "Stable-Baselines3"
    packages = ("stable-baselines3", "torch")
    modules = ("stable_baselines3",)
    algorithms = ("ppo", "sac", "td3")
    scopes = ("library",)

    def probes(self):
        from rlregress.frameworks.sb3.probes import PROBES

        return PROBES

    def train(self, request: TrainingRequest) -> Trained:
        from rlregress.frameworks.sb3.training import train

        return train(request)

    def transitions(self, request: TrainingRequest, environments: int = 1) -> Transitions:
        from rlregress.frameworks.sb3.collection import transitions

        return transitions(request, environments)


ADAPTER = StableBaselines3()

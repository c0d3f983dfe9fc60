"""skrl (https://skrl.readthedocs.io), of its agents those on PyTorch that act alone."""

from __future__ import annotations

from typing import Mapping

from rlregress.frameworks.base import Adapter, TraceTraining


class Skrl(Adapter):
    """PPO, SAC, TD3, DDPG, DQN and TRPO, with models as its documentation writes them."""

    name = "skrl"
    title = "skrl"
    packages = ("skrl", "torch")
    modules = ("skrl",)
    public = (
        *(
            f"skrl.agents.torch.{name}"
            for name in ("a2c", "ddpg", "dqn", "ppo", "sac", "td3", "trpo")
        ),
        "skrl.memories.torch",
        "skrl.models.torch",
        "skrl.resources.noises.torch",
        "skrl.resources.preprocessors.torch",
        "skrl.resources.schedulers.torch",
        "skrl.trainers.torch",
    )

    algorithms = ("ppo", "sac", "td3")
    behavior_only = ("dqn", "ddpg")
    no_resume_reason = "its trainer counts its steps from 0, and begins with a reset"

    def trace_trainings(self) -> Mapping[str, TraceTraining]:
        """Nothing is trained yet."""
        return {}


ADAPTER = Skrl()

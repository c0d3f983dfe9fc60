"""skrl (https://skrl.readthedocs.io), of its agents those on PyTorch that act alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import RunningStatistics, Unsupported


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
        "skrl.utils.model_instantiators.torch",
        "skrl.utils.runner.torch",
    )

    algorithms = ("ppo", "sac", "td3")
    behavior_only = ("dqn", "ddpg")
    recorded_methods = (
        "rlregress.frameworks.skrl.builtin_trainings:Look.numbers",
        "skrl.resources.preprocessors.torch.running_standard_scaler:RunningStandardScaler.forward",
    )
    logged = ("skrl.agents.torch.base:Agent.track_data",)
    no_resume_reason = "its trainer counts its steps from 0, and begins with a reset"

    def saved_files(self) -> Mapping[str, Any]:
        """Agents of each algorithm."""
        return self._sibling("saved_agents").SAVED

    def running_statistics(self, request: Any, environments: int = 1) -> RunningStatistics:
        """None: what normalises is a part of the agent."""
        raise Unsupported("its scaler moves with what updates read, not with what is observed")


ADAPTER = Skrl()

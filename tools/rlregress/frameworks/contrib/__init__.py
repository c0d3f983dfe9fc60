"""SB3-Contrib (https://sb3-contrib.readthedocs.io): algorithms that stand on Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress.frameworks.base import Adapter
from rlregress.probing import families


class Contrib(Adapter):
    """QR-DQN, with the details of DQN as well, TQC and CrossQ, with those of SAC, and ARS.

    MaskablePPO, RecurrentPPO and TRPO have details of PPO beside their own.
    """

    name = "contrib"
    title = "SB3-Contrib"
    packages = ("sb3-contrib", "torch")
    modules = ("sb3_contrib",)
    beneath = ("stable_baselines3",)
    #: RecurrentPPO, TQC and QR-DQN.
    behavior_only = ("ppo", "sac", "dqn")
    related = {"sac": ("tqc", "crossq"), "ppo": ("trpo",)}
    stores_files = True
    #: "library" is the class that has the family's name, TQC for SAC, and QR-DQN for DQN.
    scopes = ("library", "CrossQ", "MaskablePPO", "RecurrentPPO", "TRPO")
    public = (
        "sb3_contrib",
        *(f"sb3_contrib.{module}" for module in ("ars", "crossq", "ppo_mask", "ppo_recurrent")),
        *(f"sb3_contrib.{module}" for module in ("qrdqn", "tqc", "trpo")),
    )

    def saved_files(self) -> Mapping[str, Any]:
        """Agents, policies and replay buffers."""
        return self._sibling("saved_agents").SAVED

    def user_agent(self, path: str) -> Any:
        """An agent of the algorithm that its file names, as Stable-Baselines3 finds it."""
        return self._library().user_agent(path)

    def settings_of(self, agent: Any) -> Mapping[str, Any]:
        """Public attributes that are no networks, environments or buffers."""
        return self._library().settings_of(agent)

    @staticmethod
    def _library() -> Any:
        return families.load("rlregress.frameworks.sb3.saved_agents")


ADAPTER = Contrib()

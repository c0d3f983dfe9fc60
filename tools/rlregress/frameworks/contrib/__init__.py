"""SB3-Contrib (https://sb3-contrib.readthedocs.io): algorithms that stand on Stable-Baselines3."""

from __future__ import annotations

from typing import Any, Mapping, Tuple

from rlregress.frameworks.base import Adapter, TraceTraining


class Contrib(Adapter):
    """QR-DQN, with the details of DQN as well, TQC, with those of SAC, TRPO, and MaskablePPO."""

    name = "contrib"
    title = "SB3-Contrib"
    packages = ("sb3-contrib", "torch")
    modules = ("sb3_contrib",)
    beneath = ("stable_baselines3",)
    public = (
        "sb3_contrib",
        *(f"sb3_contrib.{module}" for module in ("ars", "crossq", "ppo_mask", "ppo_recurrent")),
        *(f"sb3_contrib.{module}" for module in ("qrdqn", "tqc", "trpo")),
    )

    def defaults(self) -> Mapping[Tuple[str, str], Mapping[str, Any]]:
        """None are documented yet."""
        return {}

    def parameter_names(self) -> Mapping[Tuple[str, str], Mapping[str, str]]:
        """None are documented yet."""
        return {}

    def trace_trainings(self) -> Mapping[str, TraceTraining]:
        """Nothing is trained yet."""
        return {}


ADAPTER = Contrib()

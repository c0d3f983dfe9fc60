"""RSL-RL (https://github.com/leggedrobotics/rsl_rl): PPO for robots in simulators."""

from __future__ import annotations

from typing import Any, Mapping, Tuple

from rlregress.frameworks.base import Adapter, TraceTraining


class RslRl(Adapter):
    """PPO, with what surrounds it: adaptive rates, memory, symmetry, curiosity, distillation."""

    name = "rsl_rl"
    title = "RSL-RL"
    packages = ("rsl-rl-lib", "torch")
    modules = ("rsl_rl",)
    public = tuple(f"rsl_rl.{module}" for module in ("algorithms", "env", "modules", "runners"))

    def defaults(self) -> Mapping[Tuple[str, str], Mapping[str, Any]]:
        """None are documented yet."""
        return {}

    def parameter_names(self) -> Mapping[Tuple[str, str], Mapping[str, str]]:
        """None are documented yet."""
        return {}

    def trace_trainings(self) -> Mapping[str, TraceTraining]:
        """Nothing is trained yet."""
        return {}


ADAPTER = RslRl()

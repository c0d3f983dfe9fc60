"""RSL-RL (https://github.com/leggedrobotics/rsl_rl): PPO for robots in simulators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress.frameworks.base import Adapter


class RslRl(Adapter):
    """PPO, with what surrounds it: adaptive rates, memory, symmetry, curiosity, distillation."""

    name = "rsl_rl"
    title = "RSL-RL"
    packages = ("rsl-rl-lib", "torch")
    modules = ("rsl_rl",)
    public = tuple(f"rsl_rl.{module}" for module in ("algorithms", "env", "modules", "runners"))
    algorithms = ("ppo",)

    def saved_files(self) -> Mapping[str, Any]:
        """Runners, with and without curiosity."""
        return self._sibling("saved_runners").SAVED


ADAPTER = RslRl()

"""RSL-RL (https://github.com/leggedrobotics/rsl_rl): PPO for robots in simulators."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter, Framework

#: PPO and its extensions: adaptive rates, memory, symmetry, curiosity, distillation.
ADAPTER = Adapter(
    "rsl_rl",
    __name__,
    Framework(
        title="RSL-RL",
        packages=("rsl-rl-lib", "torch"),
        modules=("rsl_rl",),
        public=tuple(f"rsl_rl.{module}" for module in ("algorithms", "env", "modules", "runners")),
        algorithms=("ppo",),
    ),
)

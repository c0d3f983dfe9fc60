"""SB3-Contrib (https://sb3-contrib.readthedocs.io): algorithms that extend Stable-Baselines3."""

from __future__ import annotations

from rlregress.frameworks.base import Adapter, Framework

#: below ``sb3_contrib``.
_PUBLIC = ("ars", "crossq", "ppo_mask", "ppo_recurrent", "qrdqn", "tqc", "trpo")
#: QR-DQN, with the details of DQN as well, TQC and CrossQ, with those of SAC, and ARS.
#: MaskablePPO, RecurrentPPO and TRPO have details of PPO beside their own.
ADAPTER = Adapter(
    "contrib",
    __name__,
    Framework(
        title="SB3-Contrib",
        packages=("sb3-contrib", "torch"),
        modules=("sb3_contrib",),
        beneath=("stable_baselines3",),
        #: RecurrentPPO, TQC and QR-DQN.
        behavior_only=("ppo", "sac", "dqn"),
        related={"sac": ("tqc", "crossq"), "ppo": ("trpo",)},
        stores_files=True,
        #: "library" is the class that has the family's name, TQC for SAC, and QR-DQN for DQN.
        scopes=("library", "CrossQ", "MaskablePPO", "RecurrentPPO", "TRPO"),
        public=(
            "sb3_contrib",
            *(f"sb3_contrib.{module}" for module in _PUBLIC),
        ),
    ),
)

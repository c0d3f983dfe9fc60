"""Probes of Stable-Baselines3, one file per family; all of them ask the class defaults."""

from __future__ import annotations

from typing import Mapping, Tuple

from rlregress.frameworks import families
from rlregress.frameworks.base import Probe, absences

_FAMILIES = families.load_all(
    __name__,
    (
        "sac",
        "sac_loop",
        "td3",
        "td3_loop",
        "dqn",
        "ddpg",
        "ppo",
        "ppo_loop",
        "ppo_schedules",
        "ppo_networks",
        "rollout",
        "parameters",
        "normalisation",
        "normalisation_traps",
        "atari",
        "replay",
        "traps",
    ),
)

#: (detail id, scope) -> probe.
PROBES: Mapping[Tuple[str, str], Probe] = {
    (detail, "library"): probe for family in _FAMILIES for detail, probe in family.PROBES.items()
}

#: detail id, or family -> what this framework does not have.
ABSENT: Mapping[str, str] = {
    **absences(_FAMILIES),
    "qrdqn": "has no QR-DQN",
    "tqc": "has no TQC",
    "trpo": "has no TRPO",
    "maskable": "masks no actions",
    "scaler": "normalises around its environments, step by step",
}

"""Probes of TorchRL's implementation details, one module per family.

``library`` probes drive losses, modules and estimators with their class defaults; ``trainer``
probes run ``torchrl.trainers.algorithms``; ``script`` probes call or run the programs of
``sota-implementations``.
"""

from __future__ import annotations

from typing import Mapping, Tuple

from rlregress.frameworks import families
from rlregress.frameworks.base import Probe, absences
from rlregress.frameworks.torchrl.probes.helpers.quiet import quietly

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
        "ppo_optimisation",
        "ppo_loop",
        "ppo_schedules",
        "ppo_networks",
        "gae",
        "parameters",
        "normalisation",
        "normalisation_traps",
        "atari",
        "replay",
        "traps_estimators",
        "traps",
        "traps_trainers",
    ),
)

#: (detail id, scope) -> probe.
PROBES: Mapping[Tuple[str, str], Probe] = {
    cell: quietly(probe) for family in _FAMILIES for cell, probe in family.PROBES.items()
}

#: detail id, or family -> what this framework does not have.
ABSENT: Mapping[str, str] = {
    **absences(_FAMILIES),
    "qrdqn": "has no QR-DQN",
    "tqc": "has no TQC",
    "trpo": "has no TRPO",
    "maskable": "masks no actions",
    "gae.truncation.asked": "bootstraps at time limits always, in its library",
    "scaler": "normalises around its environments, step by step",
}

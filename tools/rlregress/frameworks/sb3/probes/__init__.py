"""Probes of Stable-Baselines3, one file per family; all of them ask the class defaults."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping

from rlregress.probing import families
from rlregress.probing.interface import Probe, absences

#: every module of this package is one.
_FAMILIES = families.load_all(
    __name__, [module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg]
)

#: (detail id, scope) -> probe.
PROBES: Mapping[tuple[str, str], Probe] = {
    (detail, "library"): probe for family in _FAMILIES for detail, probe in family.PROBES.items()
}

#: detail id, or family -> what this framework does not have.
ABSENT: Mapping[str, str] = {
    **absences(_FAMILIES),
    "qrdqn": "has no QR-DQN",
    "tqc": "has no TQC",
    "trpo": "has no TRPO",
    "ars": "has no ARS",
    "policy.exported": "exports no policy",
    "maskable": "masks no actions",
    "crossq": "has no CrossQ",
    "adaptive": "has a learning rate that no divergence moves (ppo.learning_rate.adaptive)",
    "deviation": "is asked where its deviation starts alone (ppo.log_std)",
    "recurrent": "has no policy with memory",
    "symmetry": "mirrors nothing",
    "curiosity": "has no random network distillation",
    "distillation": "has no distillation",
    "normaliser": "normalises around its environments, step by step",
}

"""Probes of TorchRL's implementation details, one module per family.

``library`` probes drive losses, modules and estimators with their class defaults; ``trainer``
probes run ``torchrl.trainers.algorithms``; ``script`` probes call or run the programs of
``sota-implementations``.
"""

from __future__ import annotations

from collections.abc import Mapping

from rlregress.frameworks.torchrl.quiet import make_quiet_probe
from rlregress.probing import families
from rlregress.probing.interface import Probe

__getattr__ = families.make_lazy_getattr(__name__, atari=["make_atari_player"])


def list_probes() -> Mapping[tuple[str, str], Probe]:
    """Return (detail id, scope) -> probe."""
    return {cell: make_quiet_probe(probe) for cell, probe in families.list_probes(__name__).items()}


#: detail id, or family -> why this framework does not have it.
ABSENT: Mapping[str, str] = {
    "qrdqn": "has no QR-DQN",
    "tqc": "has no TQC",
    "trpo": "has no TRPO",
    "ars": "has no ARS",
    "policy.exported": "exports no policy by itself",
    "maskable": "masks no actions",
    "logging.losses": "has logged losses in its trainers that are not probed yet",
    "crossq": "has a CrossQ loss that is not probed yet",
    "adaptive": "has one learning rate by divergence, which ppo.learning_rate.adaptive checks",
    "deviation": "has a deviation of which only the start is checked (ppo.log_std)",
    "recurrent": "has recurrent modules that are not probed yet",
    "symmetry": "mirrors nothing",
    "curiosity": "has no random network distillation",
    "distillation": "has no distillation",
    "gae.truncation.asked": "always bootstraps at time limits, in its library",
    "normaliser": "normalises around its environments, step by step",
}

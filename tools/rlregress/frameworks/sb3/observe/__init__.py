"""Probes of Stable-Baselines3, one file per family; all of them ask the class defaults."""

from __future__ import annotations

from collections.abc import Mapping

from rlregress.probing import families
from rlregress.probing.interface import Probe

__getattr__ = families.find_in(__name__, atari=["play_atari"])


def probes() -> Mapping[tuple[str, str], Probe]:
    """(detail id, scope) -> probe."""
    return families.probes_of(__name__)


def absent() -> Mapping[str, str]:
    """Detail id, or family -> what this framework does not have."""
    return {
        **families.absent_in(__name__),
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

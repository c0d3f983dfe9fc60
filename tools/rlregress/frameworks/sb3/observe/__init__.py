"""Probes of Stable-Baselines3, one file per family; all of them probe the class defaults."""

from __future__ import annotations

from collections.abc import Mapping

from rlregress.probing import families

__getattr__ = families.make_lazy_getattr(__name__, atari=["make_atari_player"])


#: detail id, or family -> why this framework does not have it.
ABSENT: Mapping[str, str] = {
    "qrdqn": "has no QR-DQN",
    "tqc": "has no TQC",
    "trpo": "has no TRPO",
    "ars": "has no ARS",
    "policy.exported": "exports no policy",
    "maskable": "masks no actions",
    "crossq": "has no CrossQ",
    "adaptive": "has no learning rate that follows the divergence (ppo.learning_rate.adaptive)",
    "deviation": "has only a probe of its initial deviation (ppo.log_std)",
    "recurrent": "has no policy with memory",
    "symmetry": "has no symmetry loss",
    "curiosity": "has no random network distillation",
    "distillation": "has no distillation",
    "normaliser": "normalises around its environments, step by step",
}

"""Probes of skrl, one file per family; all of them probe the class defaults."""

from __future__ import annotations

from collections.abc import Mapping

_NO_SWITCH = "has no such component"


#: detail id, or family -> why this framework does not have it.
ABSENT: Mapping[str, str] = {
    "atari": "has no wrappers of Atari games, and no networks for them",
    "nstep": "has no returns of several steps",
    "qrdqn": "has no QR-DQN",
    "tqc": "has no TQC",
    "maskable": "masks no actions",
    "crossq": "has no CrossQ",
    "ars": "has no ARS",
    "policy.exported": "exports no policy",
    "adaptive": "has one learning rate by divergence, which ppo.learning_rate.adaptive checks",
    "deviation": "has a deviation of which only the start is checked (ppo.log_std)",
    **dict.fromkeys(("symmetry", "curiosity", "distillation"), "has nothing of the kind"),
    "logging": "logs neither a divergence nor a number of updates",
    **dict.fromkeys(("advantage", "optimizer"), _NO_SWITCH),
}

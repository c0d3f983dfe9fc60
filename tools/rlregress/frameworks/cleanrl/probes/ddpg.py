"""Of ``ddpg_continuous_action.py`` nothing is asked yet."""

from __future__ import annotations

from typing import Callable, Dict, Mapping

import numpy as np

_WHY = (
    "the script of 0.4.8 ends in an error, as it makes its policy without the environment that "
    "this needs, and that of a checkout has no driver yet"
)

PROBES: Dict[str, Callable[..., np.ndarray]] = {}
ABSENT: Mapping[str, str] = {
    "ddpg.networks": _WHY,
    "ddpg.target.action": _WHY,
    "ddpg.target.terminal": _WHY,
    "ddpg.loss.values": _WHY,
    "ddpg.loss.policy": _WHY,
    "ddpg.policy_delay": _WHY,
    "ddpg.target_update.share": _WHY,
    "ddpg.exploration.noise": _WHY,
    "ddpg.exploration.default": _WHY,
    "ddpg.learning_starts": _WHY,
    "ddpg.gradient.clip": _WHY,
}

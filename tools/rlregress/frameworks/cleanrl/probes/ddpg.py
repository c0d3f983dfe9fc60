"""Probes of ``ddpg_continuous_action.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.frameworks.cleanrl.drivers.ddpg import measured
from rlregress.measurements import ddpg

PROBES: dict[str, Callable[..., np.ndarray]] = {
    "ddpg.networks": measured(ddpg.networks),
    "ddpg.target.action": measured(ddpg.target_action),
    "ddpg.target.terminal": measured(ddpg.target_terminal),
    "ddpg.loss.values": measured(ddpg.critic_loss),
    "ddpg.loss.policy": measured(ddpg.actor_loss),
    "ddpg.policy_delay": measured(ddpg.policy_delay),
    "ddpg.target_update.share": measured(ddpg.target_share),
    "ddpg.exploration.noise": measured(ddpg.exploration_noise),
    "ddpg.exploration.default": measured(ddpg.exploration_default),
    "ddpg.learning_starts": measured(ddpg.learning_starts),
    "ddpg.warmup.draw": measured(ddpg.warmup_draw),
    "ddpg.gradient.clip": measured(ddpg.gradient_clip),
}

#: why none of it can be asked of a script that was written for gym
ENDS_FOR_GYM = (
    "the script of 0.4.8 ends in an error, as it makes its policy without the environment that "
    "this needs"
)

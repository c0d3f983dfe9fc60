"""Probes of ``sac_continuous_action.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rlregress.frameworks.cleanrl.drivers import measured_by
from rlregress.frameworks.cleanrl.drivers.twins import SAC, Driver
from rlregress.measurements import sac, twin_details

_measured = measured_by(partial(Driver, SAC))
PROBES: Mapping[str, Callable[..., np.ndarray]] = {
    "sac.critic_loss.scale": _measured(twin_details.critic_loss_scale),
    "sac.critic_loss.reduction": _measured(twin_details.critic_loss_reduction),
    "sac.critic_loss.distance": _measured(twin_details.critic_loss_distance),
    "sac.target.minimum": _measured(twin_details.target),
    "sac.target.bootstrap": _measured(twin_details.target_bootstrap),
    "sac.actor_loss": _measured(twin_details.actor_loss),
    "sac.target_update.polyak": _measured(twin_details.target_update),
    "sac.target_update.parameter": _measured(twin_details.target_update),
    "sac.replay.action": _measured(twin_details.replay_action),
    "sac.learning_starts": _measured(twin_details.learning_starts),
    "sac.update_ratio": _measured(partial(twin_details.update_ratio, ("critic", "actor"))),
    "sac.vectorisation": _measured(twin_details.vectorisation),
    "sac.networks": _measured(twin_details.networks),
    "sac.gradient_clip": _measured(twin_details.gradient_clip),
    "sac.adam.epsilon": _measured(twin_details.adam_epsilon),
    "sac.target.entropy": _measured(twin_details.target),
    "sac.temperature.loss": _measured(sac.temperature_loss),
    "sac.temperature.target_entropy": _measured(sac.target_entropy),
    "sac.temperature.learning_rate": _measured(sac.temperature_rate),
    "sac.temperature.initial": _measured(sac.temperature_initial),
    "sac.log_std.bounds": _measured(sac.log_std),
    "sac.log_prob.tanh_correction": _measured(sac.tanh_correction),
    "sac.log_prob.action_scale": _measured(sac.action_scale),
    "sac.update_order": _measured(sac.update_order),
    "sac.update_schedule": _measured(sac.update_schedule),
    "sac.target_update.interval": _measured(sac.target_interval),
    "sac.reward_scaling": _measured(sac.reward_scaling),
    "sac.networks.initialisation": _measured(sac.initialisation),
}

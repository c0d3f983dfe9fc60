"""Probes of SAC: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stable_baselines3 import SAC

from rlregress.frameworks.base import Probe
from rlregress.frameworks.sb3.drivers.twins import Driver
from rlregress.measurements import sac, twin_details

_MADE = partial(Driver, SAC)
PROBES: Mapping[str, Probe] = {
    "sac.critic_loss.scale": partial(twin_details.critic_loss_scale, _MADE),
    "sac.critic_loss.reduction": partial(twin_details.critic_loss_reduction, _MADE),
    "sac.critic_loss.distance": partial(twin_details.critic_loss_distance, _MADE),
    "sac.target.minimum": partial(twin_details.target, _MADE),
    "sac.target.bootstrap": partial(twin_details.target_bootstrap, _MADE),
    "sac.actor_loss": partial(twin_details.actor_loss, _MADE),
    "sac.target_update.polyak": partial(twin_details.target_update, _MADE),
    "sac.target_update.parameter": partial(twin_details.target_update, _MADE),
    "sac.replay.action": partial(twin_details.replay_action, _MADE),
    "sac.learning_starts": partial(twin_details.learning_starts, _MADE),
    "sac.update_ratio": partial(twin_details.update_ratio, ("critic", "actor"), _MADE),
    "sac.vectorisation": partial(twin_details.vectorisation, _MADE),
    "sac.networks": partial(twin_details.networks, _MADE),
    "sac.gradient_clip": partial(twin_details.gradient_clip, _MADE),
    "sac.adam.epsilon": partial(twin_details.adam_epsilon, _MADE),
    "sac.target.entropy": partial(twin_details.target, _MADE),
    "sac.temperature.loss": partial(sac.temperature_loss, _MADE),
    "sac.temperature.target_entropy": partial(sac.target_entropy, _MADE),
    "sac.temperature.learning_rate": partial(sac.temperature_rate, _MADE),
    "sac.temperature.initial": partial(sac.temperature_initial, _MADE),
    "sac.log_std.bounds": partial(sac.log_std, _MADE),
    "sac.log_prob.tanh_correction": partial(sac.tanh_correction, _MADE),
    "sac.log_prob.action_scale": partial(sac.action_scale, _MADE),
    "sac.update_order": partial(sac.update_order, _MADE),
    "sac.update_schedule": partial(sac.update_schedule, _MADE),
    "sac.target_update.interval": partial(sac.target_interval, _MADE),
    "sac.reward_scaling": partial(sac.reward_scaling, _MADE),
    "sac.networks.initialisation": partial(sac.initialisation, _MADE),
}

"""Probes of TD3: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stable_baselines3 import TD3

from rlregress.frameworks.base import Probe
from rlregress.frameworks.sb3.drivers.twins import Driver
from rlregress.measurements import td3, twin_details

_MADE = partial(Driver, TD3)
PROBES: Mapping[str, Probe] = {
    "td3.critic_loss.scale": partial(twin_details.critic_loss_scale, _MADE),
    "td3.critic_loss.reduction": partial(twin_details.critic_loss_reduction, _MADE),
    "td3.critic_loss.distance": partial(twin_details.critic_loss_distance, _MADE),
    "td3.target.minimum": partial(twin_details.target, _MADE),
    "td3.target.bootstrap": partial(twin_details.target_bootstrap, _MADE),
    "td3.actor_loss": partial(twin_details.actor_loss, _MADE),
    "td3.target_update.polyak": partial(twin_details.target_update, _MADE),
    "td3.target_update.parameter": partial(twin_details.target_update, _MADE),
    "td3.replay.action": partial(twin_details.replay_action, _MADE),
    "td3.learning_starts": partial(twin_details.learning_starts, _MADE),
    "td3.update_ratio": partial(twin_details.update_ratio, ("critic",), _MADE),
    "td3.vectorisation": partial(twin_details.vectorisation, _MADE),
    "td3.networks": partial(twin_details.networks, _MADE),
    "td3.gradient_clip": partial(twin_details.gradient_clip, _MADE),
    "td3.adam.epsilon": partial(twin_details.adam_epsilon, _MADE),
    "td3.target_noise.law": partial(td3.noise_law, _MADE),
    "td3.target_noise.bounds": partial(td3.noise_bounds, _MADE),
    "td3.target_noise.draw": partial(td3.noise_draw, _MADE),
    "td3.target_noise.parameter": partial(td3.noise_parameter, _MADE),
    "td3.action.bounding": partial(td3.action_bounding, _MADE),
    "td3.exploration.noise": partial(td3.exploration_noise, _MADE),
    "td3.exploration.default": partial(td3.exploration_default, _MADE),
    "td3.exploration.environments": partial(td3.exploration_environments, _MADE),
    "td3.exploration.warmup": partial(td3.exploration_warmup, _MADE),
    "td3.policy_delay": partial(td3.policy_delay, _MADE),
}

"""Probes of ``td3_continuous_action.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rlregress.frameworks.cleanrl.drivers import measured_by
from rlregress.frameworks.cleanrl.drivers.twins import TD3, Driver
from rlregress.measurements import td3, twin_details

_measured = measured_by(partial(Driver, TD3))
PROBES: Mapping[str, Callable[..., np.ndarray]] = {
    "td3.critic_loss.scale": _measured(twin_details.critic_loss_scale),
    "td3.critic_loss.reduction": _measured(twin_details.critic_loss_reduction),
    "td3.critic_loss.distance": _measured(twin_details.critic_loss_distance),
    "td3.target.minimum": _measured(twin_details.target),
    "td3.target.bootstrap": _measured(twin_details.target_bootstrap),
    "td3.actor_loss": _measured(twin_details.actor_loss),
    "td3.target_update.polyak": _measured(twin_details.target_update),
    "td3.target_update.parameter": _measured(twin_details.target_update),
    "td3.replay.action": _measured(twin_details.replay_action),
    "td3.learning_starts": _measured(twin_details.learning_starts),
    "td3.update_ratio": _measured(partial(twin_details.update_ratio, ("critic",))),
    "td3.vectorisation": _measured(twin_details.vectorisation),
    "td3.networks": _measured(twin_details.networks),
    "td3.gradient_clip": _measured(twin_details.gradient_clip),
    "td3.adam.epsilon": _measured(twin_details.adam_epsilon),
    "td3.target_noise.law": _measured(td3.noise_law),
    "td3.target_noise.bounds": _measured(td3.noise_bounds),
    "td3.target_noise.draw": _measured(td3.noise_draw),
    "td3.target_noise.parameter": _measured(td3.noise_parameter),
    "td3.action.bounding": _measured(td3.action_bounding),
    "td3.exploration.noise": _measured(td3.exploration_noise),
    "td3.exploration.default": _measured(td3.exploration_default),
    "td3.exploration.environments": _measured(td3.exploration_environments),
    "td3.exploration.warmup": _measured(td3.exploration_warmup),
    "td3.policy_delay": _measured(td3.policy_delay),
}

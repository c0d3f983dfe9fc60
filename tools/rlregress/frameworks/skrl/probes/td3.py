"""Probes of TD3: measurements on its driver."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from unittest import mock

import numpy as np

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.framework_errors import raised_in
from rlregress.frameworks.skrl.agents import NEVER, Layers, Training
from rlregress.frameworks.skrl.drivers.twins import Driver
from rlregress.measurements import td3, twin_details


def _before_policy_update(inputs: Inputs) -> np.ndarray:
    training = Training(
        "td3", policy_delay=int(inputs["delay"]), learning_starts=NEVER, batch_size=8
    )
    training.run(8)
    training.agent.writer = mock.Mock()
    try:
        training.update()
        training.agent.write_tracking_data(timestep=1, timesteps=1)
    except (KeyError, NameError, ValueError) as error:
        if not raised_in(error, "skrl"):
            raise
        return np.array([1.0])
    return np.array([0.0])


_MADE = partial(Driver, "td3")
#: the tanh before the bounds is the user's
_WITHOUT_TANH = partial(Driver, "td3", layers=Layers(squash=False))
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
    "td3.exploration.noise": partial(td3.exploration_noise, _MADE),
    "td3.exploration.default": partial(td3.exploration_default, _MADE),
    "td3.exploration.environments": partial(td3.exploration_environments, _MADE),
    "td3.exploration.warmup": partial(td3.exploration_warmup, _MADE),
    "td3.policy_delay": partial(td3.policy_delay, _MADE),
    "td3.action.bounding": partial(td3.action_bounding, _WITHOUT_TANH),
    "logging.before_policy_update": _before_policy_update,
}

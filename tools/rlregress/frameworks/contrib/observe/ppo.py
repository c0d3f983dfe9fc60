"""Probes of PPO on the classes that learn from rollouts, by the code for PPO itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rlregress.frameworks.contrib.observe.helpers.on_policy_classes import PROBED_ALGORITHMS
from rlregress.frameworks.sb3.observe import ppo, ppo_networks
from rlregress.probing.interface import Probe

_CLIPPED = ("MaskablePPO", "RecurrentPPO")
#: with bounded actions
_GAUSSIAN = ("RecurrentPPO", "TRPO")
_ALL = ("MaskablePPO", "RecurrentPPO", "TRPO")

_PROBES = {
    detail: probe
    for module in (ppo, ppo_networks)
    for detail, probe in module.PROBES_OF_ALGORITHM.items()
}


#: detail -> the classes that it is checked on, each of which is a scope
_CHECKED: Mapping[str, tuple[str, ...]] = {
    "ppo.policy_loss.clip": _CLIPPED,
    "ppo.advantage_normalisation": _CLIPPED,
    "ppo.advantage_normalisation.epsilon": _CLIPPED,
    "ppo.advantage_normalisation.single": _CLIPPED,
    "ppo.value_loss.scale": _ALL,
    "ppo.value_loss.coefficient": _CLIPPED,
    "ppo.value_loss.distance": _ALL,
    "ppo.value_clip": _CLIPPED,
    "ppo.value_clip.default": _CLIPPED,
    "ppo.value_clip.range": _CLIPPED,
    "ppo.value_clip.gradient": _CLIPPED,
    "ppo.entropy.bonus": ("RecurrentPPO",),
    "ppo.entropy.coefficient": ("RecurrentPPO",),
    "ppo.entropy.schedule": ("RecurrentPPO",),
    "ppo.loss.sign": ("RecurrentPPO",),
    "ppo.gradient_clip": _ALL,
    "ppo.adam.epsilon": _ALL,
    "ppo.adam.epsilon.custom": _ALL,
    "ppo.minibatches": _CLIPPED,
    "ppo.minibatches.remainder": _ALL,
    "ppo.minibatches.parameter": _CLIPPED,
    # by chance an order from a step by lot is that of the rollout (recurrent.minibatches)
    "ppo.epochs.shuffle": ("MaskablePPO",),
    "ppo.early_stop.default": _CLIPPED,
    "ppo.early_stop": _CLIPPED,
    "ppo.kl_estimator": _CLIPPED,
    "ppo.advantages.recomputed": _CLIPPED,
    "ppo.advantage.granularity": _CLIPPED,
    "ppo.iterations": _ALL,
    "ppo.vectorisation": _ALL,
    "ppo.segments": _ALL,
    "ppo.networks": _ALL,
    "ppo.initialisation": _ALL,
    "ppo.log_std": _GAUSSIAN,
    "ppo.action.distribution": _GAUSSIAN,
    "ppo.action.bounding": _GAUSSIAN,
    "ppo.learning_rate.schedule": _ALL,
    "ppo.learning_rate.schedule.asked": _ALL,
    "ppo.learning_rate.negative": _ALL,
    "ppo.clip_range.schedule": _CLIPPED,
    "ppo.clip_range.schedule.asked": _CLIPPED,
    "logging.losses": _CLIPPED,
    "gae.truncation": _ALL,
    "gae.value_target": _ALL,
    "gae.lambda_zero": _ALL,
    "gae.stored_values": _ALL,
}
PROBES: Mapping[str, Mapping[str, Probe]] = {
    detail: {name: partial(_PROBES[detail], PROBED_ALGORITHMS[name]) for name in names}
    for detail, names in _CHECKED.items()
}
_CHECKED_ON_PPO = "is checked on the PPO of Stable-Baselines3"
_ONE_ESTIMATOR = "advantages are estimated in one place, without switches"
ABSENT: Mapping[str, str] = {
    "ppo.parallel_gradient": _CHECKED_ON_PPO,
    "ppo.learning_rate.adaptive": "has no learning rate that follows the divergence",
    "gae.truncation.asked": "always bootstraps at time limits",
    "gae.reset_env": _ONE_ESTIMATOR,
    "gae.kernel": _ONE_ESTIMATOR,
}

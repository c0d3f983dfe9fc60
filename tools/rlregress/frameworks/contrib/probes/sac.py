"""Probes of SAC, on TQC and CrossQ: the same driver as that of the SAC which they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sb3_contrib import TQC, CrossQ

from rlregress.frameworks.base import Probe
from rlregress.frameworks.contrib.drivers.twins import QuantileDriver
from rlregress.frameworks.sb3.drivers.twins import Driver
from rlregress.measurements import sac, twin_details
from rlregress.measurements.twin_details import Measurement


def _of_tqc(measure: Measurement) -> Mapping[str, Probe]:
    return {"library": partial(measure, partial(QuantileDriver, TQC))}


def _of_crossq(measure: Measurement) -> Mapping[str, Probe]:
    return {"CrossQ": partial(measure, partial(Driver, CrossQ))}


def _of_both(measure: Measurement) -> Mapping[str, Probe]:
    return {**_of_tqc(measure), **_of_crossq(measure)}


#: detail -> scope -> probe. The Q networks of TQC return distributions (tqc). CrossQ has other
#: networks and updates, and no targets (crossq).
PROBES: Mapping[str, Mapping[str, Probe]] = {
    "sac.critic_loss.scale": _of_crossq(twin_details.critic_loss_scale),
    "sac.critic_loss.reduction": _of_crossq(twin_details.critic_loss_reduction),
    "sac.critic_loss.distance": _of_crossq(twin_details.critic_loss_distance),
    "sac.target.minimum": _of_crossq(twin_details.target),
    "sac.target.bootstrap": _of_both(twin_details.target_bootstrap),
    "sac.actor_loss": _of_both(twin_details.actor_loss),
    "sac.target_update.polyak": _of_tqc(twin_details.target_update),
    "sac.target_update.parameter": _of_tqc(twin_details.target_update),
    "sac.replay.action": _of_both(twin_details.replay_action),
    "sac.learning_starts": _of_both(twin_details.learning_starts),
    "sac.update_ratio": _of_tqc(partial(twin_details.update_ratio, ("critic", "actor"))),
    "sac.vectorisation": _of_both(twin_details.vectorisation),
    "sac.networks": _of_tqc(twin_details.networks),
    "sac.gradient_clip": _of_both(twin_details.gradient_clip),
    "sac.adam.epsilon": _of_both(twin_details.adam_epsilon),
    "sac.target.entropy": _of_both(twin_details.target),
    "sac.temperature.loss": _of_both(sac.temperature_loss),
    "sac.temperature.target_entropy": _of_both(sac.target_entropy),
    "sac.temperature.learning_rate": _of_both(sac.temperature_rate),
    "sac.temperature.initial": _of_both(sac.temperature_initial),
    "sac.log_std.bounds": _of_both(sac.log_std),
    "sac.log_prob.tanh_correction": _of_both(sac.tanh_correction),
    "sac.log_prob.action_scale": _of_both(sac.action_scale),
    "sac.update_order": _of_tqc(sac.update_order),
    "sac.update_schedule": _of_tqc(sac.update_schedule),
    "sac.target_update.interval": _of_tqc(sac.target_interval),
    "sac.reward_scaling": _of_both(sac.reward_scaling),
    "sac.networks.initialisation": _of_tqc(sac.initialisation),
}

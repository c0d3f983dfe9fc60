"""Probes of SAC, on TQC: the same code as for the SAC that it is made of."""

from __future__ import annotations

from functools import partial
from typing import Mapping

from sb3_contrib import TQC

from rlregress.frameworks.base import Probe
from rlregress.frameworks.contrib.probes.helpers.quantile_targets import as_a_distance
from rlregress.frameworks.sb3.probes import parameters, sac
from rlregress.frameworks.sb3.probes.helpers import critics

PROBES: Mapping[str, Probe] = {
    "sac.target.entropy": as_a_distance(partial(sac.target_entropy_term, TQC)),
    "sac.target.bootstrap": as_a_distance(partial(sac.bootstrap, TQC)),
    "sac.temperature.loss": partial(sac.temperature_loss, TQC),
    "sac.temperature.target_entropy": partial(sac.default_target_entropy, TQC),
    "sac.log_std.bounds": partial(sac.log_std, TQC),
    "sac.log_prob.tanh_correction": partial(sac.tanh_correction, TQC),
    "sac.log_prob.action_scale": partial(sac.action_scale, TQC),
    "sac.replay.action": partial(sac.replay_action, TQC),
    "sac.actor_loss": partial(sac.actor_loss, TQC),
    "sac.target_update.polyak": partial(critics.polyak, TQC),
    "sac.target_update.parameter": partial(parameters.coefficient, TQC),
}
_QUANTILES = "regresses quantiles (tqc.critic_loss)"
ABSENT: Mapping[str, str] = {
    "sac.critic_loss.scale": _QUANTILES,
    "sac.critic_loss.reduction": _QUANTILES,
    "sac.critic_loss.distance": _QUANTILES,
    "sac.target.minimum": "leaves quantiles out of the target instead (tqc.target.dropped)",
}

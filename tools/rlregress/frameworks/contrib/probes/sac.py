"""Probes of SAC, on TQC and CrossQ: the same code as for the SAC that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sb3_contrib import TQC, CrossQ

from rlregress.frameworks.base import Probe
from rlregress.frameworks.contrib.probes.helpers.quantile_targets import as_a_distance
from rlregress.frameworks.sb3.probes import parameters, sac
from rlregress.frameworks.sb3.probes.helpers import critics
from rlregress.measurements import critic_loss

#: the policy of CrossQ learns in every third update: here in the one that is recorded
_AT_ONCE: Any = {"policy_delay": 1}


def _both(probe: Callable[..., Any], **of_crossq: Any) -> Mapping[str, Probe]:
    return {"library": partial(probe, TQC), "CrossQ": partial(probe, CrossQ, **of_crossq)}


def _distance(probe: Callable[..., Any]) -> Mapping[str, Probe]:
    return {"library": as_a_distance(partial(probe, TQC)), "CrossQ": partial(probe, CrossQ)}


_critic_loss = partial(critics.critic_loss, CrossQ, ent_coef=0.0)
#: detail -> scope -> probe
PROBES: Mapping[str, Mapping[str, Probe]] = {
    "sac.critic_loss.scale": {"CrossQ": partial(critic_loss.scale, _critic_loss)},
    "sac.critic_loss.reduction": {"CrossQ": partial(critic_loss.reduction, _critic_loss)},
    "sac.critic_loss.distance": {"CrossQ": partial(critic_loss.distance, _critic_loss)},
    "sac.target.entropy": _distance(sac.target_entropy_term),
    "sac.target.minimum": {"CrossQ": partial(sac.target_minimum, CrossQ)},
    "sac.target.bootstrap": _distance(sac.bootstrap),
    "sac.temperature.loss": _both(sac.temperature_loss, **_AT_ONCE),
    "sac.temperature.target_entropy": _both(sac.default_target_entropy),
    "sac.log_std.bounds": _both(sac.log_std),
    "sac.log_prob.tanh_correction": _both(sac.tanh_correction),
    "sac.log_prob.action_scale": _both(sac.action_scale),
    "sac.replay.action": _both(sac.replay_action),
    "sac.actor_loss": _both(sac.actor_loss, **_AT_ONCE),
    "sac.target_update.polyak": {"library": partial(critics.polyak, TQC)},
    "sac.target_update.parameter": {"library": partial(parameters.coefficient, TQC)},
}

"""Probes of SAC, on TQC and CrossQ: the same code as for the SAC that they are made of."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Mapping, Tuple

from sb3_contrib import TQC, CrossQ

from rlregress.frameworks.base import Probe
from rlregress.frameworks.contrib.probes.helpers.quantile_targets import as_a_distance
from rlregress.frameworks.sb3.probes import parameters, sac
from rlregress.frameworks.sb3.probes.helpers import critics
from rlregress.measurements import critic_loss

#: the policy of CrossQ learns in every third update: here in the one that is recorded
_AT_ONCE: Any = {"policy_delay": 1}

#: asked of both in one way
_SAME: Mapping[str, Callable[..., Any]] = {
    "sac.temperature.target_entropy": sac.default_target_entropy,
    "sac.log_std.bounds": sac.log_std,
    "sac.log_prob.tanh_correction": sac.tanh_correction,
    "sac.log_prob.action_scale": sac.action_scale,
    "sac.replay.action": sac.replay_action,
}
_TQC: Mapping[str, Probe] = {
    **{detail: partial(probe, TQC) for detail, probe in _SAME.items()},
    "sac.target.entropy": as_a_distance(partial(sac.target_entropy_term, TQC)),
    "sac.target.bootstrap": as_a_distance(partial(sac.bootstrap, TQC)),
    "sac.temperature.loss": partial(sac.temperature_loss, TQC),
    "sac.actor_loss": partial(sac.actor_loss, TQC),
    "sac.target_update.polyak": partial(critics.polyak, TQC),
    "sac.target_update.parameter": partial(parameters.coefficient, TQC),
}
_critic_loss = partial(critics.critic_loss, CrossQ, ent_coef=0.0)
_CROSSQ: Mapping[str, Probe] = {
    **{detail: partial(probe, CrossQ) for detail, probe in _SAME.items()},
    "sac.critic_loss.scale": partial(critic_loss.scale, _critic_loss),
    "sac.critic_loss.reduction": partial(critic_loss.reduction, _critic_loss),
    "sac.critic_loss.distance": partial(critic_loss.distance, _critic_loss),
    "sac.target.entropy": partial(sac.target_entropy_term, CrossQ),
    "sac.target.minimum": partial(sac.target_minimum, CrossQ),
    "sac.target.bootstrap": partial(sac.bootstrap, CrossQ),
    "sac.temperature.loss": partial(sac.temperature_loss, CrossQ, **_AT_ONCE),
    "sac.actor_loss": partial(sac.actor_loss, CrossQ, **_AT_ONCE),
}
PROBES: Mapping[Tuple[str, str], Probe] = {
    **{(detail, "library"): probe for detail, probe in _TQC.items()},
    **{(detail, "CrossQ"): probe for detail, probe in _CROSSQ.items()},
}

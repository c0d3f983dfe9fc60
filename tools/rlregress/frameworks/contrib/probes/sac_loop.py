"""Probes of the loop of SAC, on TQC and CrossQ: the same code as for the SAC of which they are."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Mapping, Tuple

from sb3_contrib import TQC, CrossQ

from rlregress.frameworks.base import Probe
from rlregress.frameworks.contrib.probes.helpers.quantile_targets import as_a_distance
from rlregress.frameworks.sb3.probes import sac_loop
from rlregress.frameworks.sb3.probes.helpers import off_policy_loops

#: asked of both in one way
_SAME: Mapping[str, Callable[..., Any]] = {
    "sac.learning_starts": off_policy_loops.learning_starts,
    "sac.vectorisation": off_policy_loops.vectorisation,
    "sac.gradient_clip": off_policy_loops.gradient_clip,
    "sac.adam.epsilon": off_policy_loops.adam_epsilon,
    "sac.temperature.learning_rate": sac_loop.temperature_rate,
    "sac.temperature.initial": sac_loop.temperature_initial,
}
_TQC: Mapping[str, Probe] = {
    **{detail: partial(probe, TQC) for detail, probe in _SAME.items()},
    "sac.update_ratio": partial(off_policy_loops.update_ratio, TQC, ["critic", "actor"]),
    "sac.networks": partial(off_policy_loops.networks, TQC),
    "sac.networks.initialisation": partial(sac_loop.initialisation, TQC),
    "sac.update_order": as_a_distance(partial(sac_loop.update_order, TQC)),
    "sac.update_schedule": partial(sac_loop.update_schedule, TQC),
    "sac.target_update.interval": partial(sac_loop.target_interval, TQC),
    "sac.reward_scaling": as_a_distance(partial(sac_loop.reward_scaling, TQC)),
}
_CROSSQ: Mapping[str, Probe] = {
    **{detail: partial(probe, CrossQ) for detail, probe in _SAME.items()},
    "sac.reward_scaling": partial(sac_loop.reward_scaling, CrossQ),
}
PROBES: Mapping[Tuple[str, str], Probe] = {
    **{(detail, "library"): probe for detail, probe in _TQC.items()},
    **{(detail, "CrossQ"): probe for detail, probe in _CROSSQ.items()},
}

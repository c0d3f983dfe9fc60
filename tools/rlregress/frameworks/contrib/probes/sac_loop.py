"""Probes of the loop of SAC, on TQC: the same code as for the SAC that it is made of."""

from __future__ import annotations

from functools import partial
from typing import Mapping

from sb3_contrib import TQC

from rlregress.frameworks.base import Probe
from rlregress.frameworks.contrib.probes.helpers.quantile_targets import as_a_distance
from rlregress.frameworks.sb3.probes import sac_loop
from rlregress.frameworks.sb3.probes.helpers import off_policy_loops

PROBES: Mapping[str, Probe] = {
    "sac.learning_starts": partial(off_policy_loops.learning_starts, TQC),
    "sac.update_ratio": partial(off_policy_loops.update_ratio, TQC, ["critic", "actor"]),
    "sac.vectorisation": partial(off_policy_loops.vectorisation, TQC),
    "sac.networks": partial(off_policy_loops.networks, TQC),
    "sac.gradient_clip": partial(off_policy_loops.gradient_clip, TQC),
    "sac.adam.epsilon": partial(off_policy_loops.adam_epsilon, TQC),
    "sac.update_order": as_a_distance(partial(sac_loop.update_order, TQC)),
    "sac.update_schedule": partial(sac_loop.update_schedule, TQC),
    "sac.temperature.learning_rate": partial(sac_loop.temperature_rate, TQC),
    "sac.temperature.initial": partial(sac_loop.temperature_initial, TQC),
    "sac.target_update.interval": partial(sac_loop.target_interval, TQC),
    "sac.reward_scaling": as_a_distance(partial(sac_loop.reward_scaling, TQC)),
    "sac.networks.initialisation": partial(sac_loop.initialisation, TQC),
}

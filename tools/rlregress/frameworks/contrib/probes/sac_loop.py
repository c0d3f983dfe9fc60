"""Probes of the loop of SAC, on TQC and CrossQ: the same code as for the SAC of which they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sb3_contrib import TQC, CrossQ

from rlregress.frameworks.base import Probe
from rlregress.frameworks.contrib.probes.helpers.quantile_targets import as_a_distance
from rlregress.frameworks.sb3.probes import sac_loop
from rlregress.frameworks.sb3.probes.helpers import off_policy_loops


def _both(probe: Callable[..., Any]) -> Mapping[str, Probe]:
    return {"library": partial(probe, TQC), "CrossQ": partial(probe, CrossQ)}


#: detail -> scope -> probe; CrossQ has other networks and updates, and no targets (crossq)
PROBES: Mapping[str, Mapping[str, Probe]] = {
    "sac.learning_starts": _both(off_policy_loops.learning_starts),
    "sac.update_ratio": {
        "library": partial(off_policy_loops.update_ratio, TQC, ["critic", "actor"])
    },
    "sac.vectorisation": _both(off_policy_loops.vectorisation),
    "sac.networks": {"library": partial(off_policy_loops.networks, TQC)},
    "sac.gradient_clip": _both(off_policy_loops.gradient_clip),
    "sac.adam.epsilon": _both(off_policy_loops.adam_epsilon),
    "sac.update_order": {"library": as_a_distance(partial(sac_loop.update_order, TQC))},
    "sac.update_schedule": {"library": partial(sac_loop.update_schedule, TQC)},
    "sac.temperature.learning_rate": _both(sac_loop.temperature_rate),
    "sac.temperature.initial": _both(sac_loop.temperature_initial),
    "sac.target_update.interval": {"library": partial(sac_loop.target_interval, TQC)},
    "sac.reward_scaling": {
        "library": as_a_distance(partial(sac_loop.reward_scaling, TQC)),
        "CrossQ": partial(sac_loop.reward_scaling, CrossQ),
    },
    "sac.networks.initialisation": {"library": partial(sac_loop.initialisation, TQC)},
}

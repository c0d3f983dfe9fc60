"""Probes of SAC, on TQC and CrossQ: the same driver as that of the SAC which they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sb3_contrib import TQC, CrossQ

from rlregress.frameworks.base import Probe
from rlregress.frameworks.contrib.drivers.twins import QuantileDriver
from rlregress.frameworks.sb3.drivers.twins import Driver
from rlregress.measurements.sac import MEASUREMENTS

_DRIVERS: Mapping[str, Any] = {
    "library": partial(QuantileDriver, TQC),
    "CrossQ": partial(Driver, CrossQ),
}
_NOT_MEASURED = {
    # its Q networks return distributions (tqc)
    "library": {
        "sac.critic_loss.scale",
        "sac.critic_loss.reduction",
        "sac.critic_loss.distance",
        "sac.target.minimum",
    },
    # it has other networks and updates, and no targets (crossq)
    "CrossQ": {
        "sac.target_update.polyak",
        "sac.target_update.parameter",
        "sac.target_update.interval",
        "sac.update_ratio",
        "sac.update_order",
        "sac.update_schedule",
        "sac.networks",
        "sac.networks.initialisation",
    },
}

#: detail -> scope -> probe
PROBES: Mapping[str, Mapping[str, Probe]] = {
    detail: {
        scope: partial(measure, driver)
        for scope, driver in _DRIVERS.items()
        if detail not in _NOT_MEASURED[scope]
    }
    for detail, measure in MEASUREMENTS.items()
}

"""Probes of SAC on TQC and CrossQ, which extend it, by the driver of SAC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sb3_contrib import TQC, CrossQ
from sb3_contrib.tqc import tqc

from rlregress.frameworks.sb3.observe.drivers.twins import Driver
from rlregress.measurements import sac
from rlregress.measurements.twin_agents import MakeTwinDriver
from rlregress.probing.interface import Probe


class _QuantileDriver(Driver):
    """An agent of TQC, whose loss is a quantile distance and not a function of PyTorch."""

    distances = ((tqc, "quantile_huber_loss"),)


#: scope -> driver, and details that are not measured: the Q networks of TQC return distributions
#: (tqc), and CrossQ has other networks and updates, and no targets (crossq)
_CLASSES: Mapping[str, tuple[MakeTwinDriver, Sequence[str]]] = {
    "library": (
        partial(_QuantileDriver, TQC),
        (
            "sac.critic_loss.scale",
            "sac.critic_loss.reduction",
            "sac.critic_loss.distance",
            "sac.target.minimum",
        ),
    ),
    "CrossQ": (
        partial(Driver, CrossQ),
        (
            "sac.target_update.polyak",
            "sac.target_update.parameter",
            "sac.target_update.interval",
            "sac.update_ratio",
            "sac.update_order",
            "sac.update_schedule",
            "sac.networks",
            "sac.networks.initialisation",
        ),
    ),
}
#: detail -> scope -> probe
PROBES: Mapping[str, Mapping[str, Probe]] = {
    id: {
        scope: partial(measure, driver)
        for scope, (driver, unmeasured) in _CLASSES.items()
        if id not in unmeasured
    }
    for id, measure in sac.MEASUREMENTS.items()
}

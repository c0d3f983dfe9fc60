"""Probes of DDPG: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rlregress.frameworks.skrl.observe.drivers.ddpg import Driver
from rlregress.measurements import ddpg
from rlregress.probing.interface import Probe

PROBES: Mapping[str, Probe] = {
    id: partial(measure, Driver) for id, measure in ddpg.MEASUREMENTS.items()
}

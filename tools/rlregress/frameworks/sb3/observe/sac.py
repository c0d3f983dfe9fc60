"""Probes of SAC: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stable_baselines3 import SAC

from rlregress.frameworks.sb3.observe.drivers.twins import Driver
from rlregress.measurements import sac
from rlregress.probing.interface import Probe

_MADE = partial(Driver, SAC)
PROBES: Mapping[str, Probe] = {
    id: partial(measure, _MADE) for id, measure in sac.MEASUREMENTS.items()
}

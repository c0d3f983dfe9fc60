"""Probes of SAC: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stable_baselines3 import SAC

from rlregress.frameworks.base import Probe
from rlregress.frameworks.sb3.drivers.twins import Driver
from rlregress.measurements.sac import MEASUREMENTS

PROBES: Mapping[str, Probe] = {
    detail: partial(measure, partial(Driver, SAC)) for detail, measure in MEASUREMENTS.items()
}

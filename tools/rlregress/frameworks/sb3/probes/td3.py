"""Probes of TD3: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stable_baselines3 import TD3

from rlregress.frameworks.base import Probe
from rlregress.frameworks.sb3.drivers.twins import Driver
from rlregress.measurements.td3 import MEASUREMENTS

PROBES: Mapping[str, Probe] = {
    detail: partial(measure, partial(Driver, TD3)) for detail, measure in MEASUREMENTS.items()
}

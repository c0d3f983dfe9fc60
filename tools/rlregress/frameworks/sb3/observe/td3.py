"""Probes of TD3: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stable_baselines3 import TD3

from rlregress.frameworks.sb3.observe.drivers.twins import Driver
from rlregress.measurements import td3
from rlregress.probing.interface import Probe

_MADE = partial(Driver, TD3)
PROBES: Mapping[str, Probe] = {
    id: partial(measure, _MADE) for id, measure in td3.MEASUREMENTS.items()
}

"""Probes of SAC, TD3 and DDPG: measurements on the driver of their classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stable_baselines3 import DDPG, SAC, TD3

from rlregress.frameworks.sb3.observe.drivers.twins import Driver
from rlregress.measurements import ddpg, sac, td3
from rlregress.probing.interface import Probe

PROBES: Mapping[str, Probe] = {
    **{id: partial(measure, partial(Driver, DDPG)) for id, measure in ddpg.MEASUREMENTS.items()},
    **{id: partial(measure, partial(Driver, SAC)) for id, measure in sac.MEASUREMENTS.items()},
    **{id: partial(measure, partial(Driver, TD3)) for id, measure in td3.MEASUREMENTS.items()},
}

"""Probes of DQN: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rlregress.frameworks.skrl.observe.drivers.dqn import Driver
from rlregress.measurements import dqn
from rlregress.probing.interface import Probe

PROBES: Mapping[str, Probe] = {
    **{id: partial(measure, Driver) for id, measure in dqn.MEASUREMENTS.items()},
    "target.hard_update_period": partial(
        dqn.measure_steps_between_hard_updates, partial(Driver, polyak=1.0)
    ),
}

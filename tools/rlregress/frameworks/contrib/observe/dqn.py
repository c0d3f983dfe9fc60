"""Probes of DQN: measurements on the driver of QR-DQN."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sb3_contrib import QRDQN

from rlregress.frameworks.contrib.observe.drivers.dqn import Driver
from rlregress.frameworks.sb3.observe import traps
from rlregress.measurements import dqn
from rlregress.probing.interface import Probe

ABSENT: Mapping[str, str] = {"dqn.loss.kind": "regresses quantiles (qrdqn.loss.distance)"}
PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, Driver) for id, measure in dqn.MEASUREMENTS.items() if id not in ABSENT
    },
    "target.hard_update_period": partial(dqn.measure_steps_between_hard_updates, Driver),
    "dqn.exploration.draw": partial(traps.measure_share_of_mixed_exploration, QRDQN),
}

"""Probes of deep Q-networks: measurements on the driver."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.torchrl.observe.drivers.dqn import Driver
from rlregress.measurements import dqn
from rlregress.probing.interface import Probe

#: what is measured without a trainer.
_OF_LOSSES = (
    "dqn.target.double", "dqn.target.ties", "dqn.target.terminal", "dqn.loss.kind",
    "dqn.epsilon.deterministic",
)  # fmt: skip
PROBES: dict[tuple[str, str], Probe] = {
    **{
        (id, "library"): partial(measure, Driver)
        for id, measure in dqn.MEASUREMENTS.items()
        if id in _OF_LOSSES
    },
    **{
        (id, "trainer"): partial(measure, Driver)
        for id, measure in dqn.MEASUREMENTS.items()
        if id not in _OF_LOSSES
    },
}

"""Probes of deep deterministic policy gradients: measurements on the driver."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.torchrl.observe.drivers.ddpg import Driver
from rlregress.measurements import ddpg
from rlregress.probing.interface import Probe

#: what is measured without a trainer.
_OF_LOSSES = (
    "ddpg.networks", "ddpg.target.action", "ddpg.target.terminal", "ddpg.loss.values",
    "ddpg.loss.policy",
)  # fmt: skip
PROBES: dict[tuple[str, str], Probe] = {
    **{
        (id, "library"): partial(measure, Driver)
        for id, measure in ddpg.MEASUREMENTS.items()
        if id in _OF_LOSSES
    },
    **{
        (id, "trainer"): partial(measure, Driver)
        for id, measure in ddpg.MEASUREMENTS.items()
        if id not in _OF_LOSSES
    },
}

"""Probes of deep deterministic policy gradients: measurements on its loss and its trainer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rlregress.frameworks.torchrl.observe.drivers import twin_loops, twin_losses
from rlregress.measurements import ddpg
from rlregress.probing.interface import Probe

#: what is measured without a trainer.
_OF_LOSSES = (
    "ddpg.networks", "ddpg.target.action", "ddpg.target.terminal", "ddpg.loss.values",
    "ddpg.loss.policy",
)  # fmt: skip
_LOSS: Any = partial(twin_losses.Driver, "ddpg")
_TRAINER: Any = partial(twin_loops.TrainerDriver, "ddpg")
PROBES: Mapping[tuple[str, str], Probe] = {
    (id, "library" if id in _OF_LOSSES else "trainer"): partial(
        measure, _LOSS if id in _OF_LOSSES else _TRAINER
    )
    for id, measure in ddpg.MEASUREMENTS.items()
}

"""Probes of deep deterministic policy gradients: measurements on its loss and its trainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rlregress.frameworks.torchrl.observe.drivers import twin_losses, twin_trainers
from rlregress.measurements import ddpg
from rlregress.probing.interface import Probe

#: scope, what is measured in it, and the details.
_MEASURED: Sequence[tuple[str, Any, Sequence[str]]] = (
    ("library", twin_losses.Driver, (
        "ddpg.networks", "ddpg.target.action", "ddpg.target.terminal", "ddpg.loss.values",
        "ddpg.loss.policy",
    )),
    ("trainer", twin_trainers.Driver, (
        "ddpg.policy_delay", "ddpg.target_update.share", "ddpg.exploration.noise",
        "ddpg.exploration.default", "ddpg.learning_starts", "ddpg.warmup.draw",
        "ddpg.gradient.clip",
    )),
)  # fmt: skip
PROBES: Mapping[tuple[str, str], Probe] = {
    (id, scope): partial(ddpg.MEASUREMENTS[id], partial(driver, "ddpg"))
    for scope, driver, ids in _MEASURED
    for id in ids
}

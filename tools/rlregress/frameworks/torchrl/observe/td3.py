"""Probes of twin delayed deep deterministic policy gradient: its loss, trainer and program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rlregress.frameworks.torchrl.observe.drivers import twin_losses, twin_programs, twin_trainers
from rlregress.measurements import td3
from rlregress.probing.interface import Probe

#: scope, what is measured in it, and the details.
_MEASURED: Sequence[tuple[str, Any, Sequence[str]]] = (
    ("library", partial(twin_losses.Driver, "td3"), (
        "td3.critic_loss.scale", "td3.critic_loss.reduction", "td3.critic_loss.distance",
        "td3.target.minimum", "td3.target.bootstrap", "td3.target_noise.law",
        "td3.target_noise.bounds", "td3.target_noise.draw", "td3.target_noise.parameter",
        "td3.actor_loss", "td3.action.bounding", "td3.exploration.noise", "td3.exploration.default",
        "td3.target_update.polyak", "td3.target_update.parameter",
    )),
    ("trainer", partial(twin_trainers.Driver, "td3"), (
        "td3.target.bootstrap", "td3.policy_delay", "td3.learning_starts", "td3.gradient_clip",
    )),
    ("script", partial(twin_programs.Driver, "td3"), (
        "td3.exploration.environments", "td3.exploration.warmup", "td3.policy_delay",
        "td3.target_update.polyak", "td3.target_update.parameter", "td3.learning_starts",
        "td3.update_ratio", "td3.vectorisation", "td3.networks", "td3.gradient_clip",
        "td3.replay.action", "td3.adam.epsilon",
    )),
    # the policies of the program by themselves
    ("script", partial(twin_programs.PolicyDriver, "td3"), (
        "td3.action.bounding", "td3.exploration.noise", "td3.exploration.default",
    )),
)  # fmt: skip
PROBES: Mapping[tuple[str, str], Probe] = {
    (id, scope): partial(td3.MEASUREMENTS[id], driver)
    for scope, driver, ids in _MEASURED
    for id in ids
}

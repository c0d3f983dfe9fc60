"""Probes of soft actor-critic: measurements on its loss, its trainer and its program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.torchrl.drivers import twin_losses, twin_programs, twin_trainers
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw
from rlregress.measurements.sac import MEASUREMENTS
from rlregress.measurements.twin_agents import Settings


def _update_order(i: Inputs) -> np.ndarray:
    """From what the loss returned last before each part took its first step.

    No probe chooses the log-probability that a program's policy reports, as other drivers do.
    """
    returned: list[Any] = []
    before: dict[str, Any] = {}

    def watch(loss: Any) -> None:
        twin_programs.make_constant_q(loss.qvalue_network_params, [0.0] * 2)
        twin_programs.make_constant_q(loss.target_qvalue_network_params, [i["target_q"]] * 2)
        forward = loss.forward

        def kept(batch: Any) -> Any:
            returned.append(forward(batch))
            return returned[-1]

        loss.forward = kept

    settings = Settings(
        steps=3,
        collected_at_once=3,
        reward=float(i["reward"]),
        batch_size=int(i["batch_size"]),
        discount=float(i["discount"]),
        rates=(float(i["learning_rate"]),) * 2,
        log_prob=float(i["log_prob"]),
    )
    twin_programs.Driver("sac", settings).run_program(
        watch, lambda part: before.setdefault(part, returned[-1]), utd_ratio=1 / 3
    )

    def q_seen(losses: Any) -> float:
        log_prob = -losses["entropy"]
        return float((losses["alpha"] * log_prob - losses["loss_actor"]).detach())

    changes = [
        q_seen(before["actor"]) - q_seen(returned[0]),
        float(before["critic"]["alpha"] - 1.0),
        float(before["actor"]["alpha"] - 1.0),
    ]
    return (np.abs(changes) > 1e-5).astype(np.float64)


_MEASURED: Sequence[tuple[str, Callable[..., Any], Sequence[str]]] = (
    (
        "library",
        twin_losses.Driver,
        (
            "sac.critic_loss.scale",
            "sac.critic_loss.reduction",
            "sac.critic_loss.distance",
            "sac.target.minimum",
            "sac.target.bootstrap",
            "sac.target.entropy",
            "sac.actor_loss",
            "sac.target_update.polyak",
            "sac.target_update.parameter",
            "sac.temperature.loss",
            "sac.temperature.target_entropy",
            "sac.temperature.initial",
            "sac.log_std.bounds",
            "sac.log_prob.tanh_correction",
            "sac.log_prob.action_scale",
        ),
    ),
    (
        "trainer",
        twin_trainers.Driver,
        (
            "sac.target.bootstrap",
            "sac.replay.action",
            "sac.learning_starts",
            "sac.gradient_clip",
        ),
    ),
    (
        "script",
        twin_programs.Driver,
        (
            "sac.target_update.polyak",
            "sac.target_update.parameter",
            "sac.target_update.interval",
            "sac.learning_starts",
            "sac.update_ratio",
            "sac.update_schedule",
            "sac.vectorisation",
            "sac.networks",
            "sac.networks.initialisation",
            "sac.gradient_clip",
            "sac.temperature.learning_rate",
            "sac.reward_scaling",
            "sac.adam.epsilon",
        ),
    ),
)
PROBES: Mapping[tuple[str, str], Raw] = {
    **{
        (detail, scope): partial(MEASUREMENTS[detail], partial(driver, "sac"))
        for scope, driver, details in _MEASURED
        for detail in details
    },
    ("sac.update_order", "script"): _update_order,
}

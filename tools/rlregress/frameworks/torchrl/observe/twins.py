"""Probes of SAC, TD3 and DDPG: measurements on their losses, trainers and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.torchrl.observe.drivers import twin_loops, twin_losses
from rlregress.measurements import ddpg, sac, td3
from rlregress.measurements.twin_agents import Settings
from rlregress.probing.interface import Inputs, Probe


def _flag_changes_before_each_update(inputs: Inputs) -> np.ndarray:
    """Return what had changed (1) or not (0) before the first optimiser step of another part.

    In order: Q before the actor's step, and the temperature before the critic's and the actor's.
    No probe chooses the log-probability that a program's policy reports, as other drivers do.
    """
    returned: list[Any] = []
    before: dict[str, Any] = {}

    def watch_loss(loss: Any) -> None:
        twin_loops.make_networks_constant(loss.qvalue_network_params, [0.0] * 2)
        twin_loops.make_networks_constant(
            loss.target_qvalue_network_params, [inputs["target_q"]] * 2
        )
        forward = loss.forward

        def call_loss_and_keep_result(batch: Any) -> Any:
            returned.append(forward(batch))
            return returned[-1]

        loss.forward = call_loss_and_keep_result

    settings = Settings(
        steps=3,
        collected_at_once=3,
        reward=float(inputs["reward"]),
        batch_size=int(inputs["batch_size"]),
        discount=float(inputs["discount"]),
        rates=(float(inputs["learning_rate"]),) * 2,
        log_prob=float(inputs["log_prob"]),
    )
    twin_loops.ProgramDriver("sac", settings).run_and_record(
        lambda part: before.setdefault(part, returned[-1]), on_loss=watch_loss, utd_ratio=1 / 3
    )

    def compute_q_from_losses(losses: Any) -> float:
        log_prob = -losses["entropy"]
        return float((losses["alpha"] * log_prob - losses["loss_actor"]).detach())

    changes = [
        compute_q_from_losses(before["actor"]) - compute_q_from_losses(returned[0]),
        float(before["critic"]["alpha"] - 1.0),
        float(before["actor"]["alpha"] - 1.0),
    ]
    return (np.abs(changes) > 1e-5).astype(np.float64)


#: scope, driver of what is measured in it, and the details.
_MEASURED: Sequence[tuple[str, Any, Sequence[str]]] = (
    ("library", twin_losses.Driver, (
        "sac.critic_loss.scale", "sac.critic_loss.reduction", "sac.critic_loss.distance",
        "sac.target.minimum", "sac.target.bootstrap", "sac.target.entropy", "sac.actor_loss",
        "sac.target_update.polyak", "sac.target_update.parameter", "sac.temperature.loss",
        "sac.temperature.target_entropy", "sac.temperature.initial", "sac.log_std.bounds",
        "sac.log_prob.tanh_correction", "sac.log_prob.action_scale",
    )),
    ("trainer", twin_loops.TrainerDriver, (
        "sac.target.bootstrap", "sac.replay.action", "sac.learning_starts", "sac.gradient_clip",
    )),
    ("script", twin_loops.ProgramDriver, (
        "sac.target_update.polyak", "sac.target_update.parameter", "sac.target_update.interval",
        "sac.learning_starts", "sac.update_ratio", "sac.update_schedule", "sac.vectorisation",
        "sac.networks", "sac.networks.initialisation", "sac.gradient_clip",
        "sac.temperature.learning_rate", "sac.reward_scaling", "sac.adam.epsilon",
    )),
    ("library", twin_losses.Driver, (
        "td3.critic_loss.scale", "td3.critic_loss.reduction", "td3.critic_loss.distance",
        "td3.target.minimum", "td3.target.bootstrap", "td3.target_noise.law",
        "td3.target_noise.bounds", "td3.target_noise.draw", "td3.target_noise.parameter",
        "td3.actor_loss", "td3.action.bounding", "td3.exploration.noise", "td3.exploration.default",
        "td3.target_update.polyak", "td3.target_update.parameter",
    )),
    ("trainer", twin_loops.TrainerDriver, (
        "td3.target.bootstrap", "td3.policy_delay", "td3.learning_starts", "td3.gradient_clip",
    )),
    ("script", twin_loops.ProgramDriver, (
        "td3.exploration.environments", "td3.exploration.warmup", "td3.policy_delay",
        "td3.target_update.polyak", "td3.target_update.parameter", "td3.learning_starts",
        "td3.update_ratio", "td3.vectorisation", "td3.networks", "td3.gradient_clip",
        "td3.replay.action", "td3.adam.epsilon",
    )),
    ("library", twin_losses.Driver, (
        "ddpg.networks", "ddpg.target.action", "ddpg.target.terminal", "ddpg.loss.values",
        "ddpg.loss.policy",
    )),
    ("trainer", twin_loops.TrainerDriver, (
        "ddpg.policy_delay", "ddpg.target_update.share", "ddpg.exploration.noise",
        "ddpg.exploration.default", "ddpg.learning_starts", "ddpg.warmup.draw",
        "ddpg.gradient.clip",
    )),
    # the policies of the program by themselves
    ("script", twin_loops.PolicyDriver, (
        "td3.action.bounding", "td3.exploration.noise", "td3.exploration.default",
    )),
)  # fmt: skip
PROBES: Mapping[tuple[str, str], Probe] = {
    **{
        (id, scope): partial(module.MEASUREMENTS[id], partial(driver, family))
        for scope, driver, ids in _MEASURED
        for family, module in (("sac", sac), ("td3", td3), ("ddpg", ddpg))
        for id in ids
        if id.startswith(f"{family}.")
    },
    ("sac.update_order", "script"): _flag_changes_before_each_update,
}

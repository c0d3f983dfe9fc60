"""Probes of soft actor-critic: measurements on its loss, its trainer and its program."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.torchrl.observe.drivers import twin_losses, twin_programs, twin_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements import sac, twin_details
from rlregress.measurements.twin_agents import Settings
from rlregress.probing.interface import Inputs


def _measure_update_order(inputs: Inputs) -> np.ndarray:
    """Measure the order of updates by the loss returned last before each part's first step.

    No probe chooses the log-probability that a program's policy reports, as other drivers do.
    """
    returned: list[Any] = []
    before: dict[str, Any] = {}

    def watch_loss(loss: Any) -> None:
        twin_programs.make_networks_constant(loss.qvalue_network_params, [0.0] * 2)
        twin_programs.make_networks_constant(
            loss.target_qvalue_network_params, [inputs["target_q"]] * 2
        )
        forward = loss.forward

        def record_batch(batch: Any) -> Any:
            returned.append(forward(batch))
            return returned[-1]

        loss.forward = record_batch

    settings = Settings(
        steps=3,
        collected_at_once=3,
        reward=float(inputs["reward"]),
        batch_size=int(inputs["batch_size"]),
        discount=float(inputs["discount"]),
        rates=(float(inputs["learning_rate"]),) * 2,
        log_prob=float(inputs["log_prob"]),
    )
    twin_programs.Driver("sac", settings).run_program(
        watch_loss, lambda part: before.setdefault(part, returned[-1]), utd_ratio=1 / 3
    )

    def find_loss_of_q(losses: Any) -> float:
        log_prob = -losses["entropy"]
        return float((losses["alpha"] * log_prob - losses["loss_actor"]).detach())

    changes = [
        find_loss_of_q(before["actor"]) - find_loss_of_q(returned[0]),
        float(before["critic"]["alpha"] - 1.0),
        float(before["actor"]["alpha"] - 1.0),
    ]
    return (np.abs(changes) > 1e-5).astype(np.float64)


_LOSSES: Any = partial(twin_losses.Driver, "sac")
_TRAINER: Any = partial(twin_trainers.Driver, "sac")
_PROGRAM: Any = partial(twin_programs.Driver, "sac")
PROBES: Mapping[tuple[str, str], Raw] = {
    ("sac.critic_loss.scale", "library"): partial(twin_details.measure_critic_loss_scale, _LOSSES),
    ("sac.critic_loss.reduction", "library"): partial(
        twin_details.measure_critic_loss_reduction, _LOSSES
    ),
    ("sac.critic_loss.distance", "library"): partial(
        twin_details.measure_critic_loss_distance, _LOSSES
    ),
    ("sac.target.minimum", "library"): partial(twin_details.measure_target, _LOSSES),
    ("sac.target.bootstrap", "library"): partial(twin_details.measure_target_bootstrap, _LOSSES),
    ("sac.target.entropy", "library"): partial(twin_details.measure_target, _LOSSES),
    ("sac.actor_loss", "library"): partial(twin_details.measure_actor_loss, _LOSSES),
    ("sac.target_update.polyak", "library"): partial(twin_details.measure_target_update, _LOSSES),
    ("sac.target_update.parameter", "library"): partial(
        twin_details.measure_target_update, _LOSSES
    ),
    ("sac.temperature.loss", "library"): partial(sac.measure_temperature_loss, _LOSSES),
    ("sac.temperature.target_entropy", "library"): partial(sac.measure_target_entropy, _LOSSES),
    ("sac.temperature.initial", "library"): partial(sac.measure_initial_temperature, _LOSSES),
    ("sac.log_std.bounds", "library"): partial(sac.measure_log_standard_deviation, _LOSSES),
    ("sac.log_prob.tanh_correction", "library"): partial(sac.measure_tanh_correction, _LOSSES),
    ("sac.log_prob.action_scale", "library"): partial(sac.measure_effect_of_action_scale, _LOSSES),
    ("sac.target.bootstrap", "trainer"): partial(twin_details.measure_target_bootstrap, _TRAINER),
    ("sac.replay.action", "trainer"): partial(twin_details.measure_replay_action, _TRAINER),
    ("sac.learning_starts", "trainer"): partial(twin_details.measure_learning_starts, _TRAINER),
    ("sac.gradient_clip", "trainer"): partial(
        twin_details.measure_clipped_gradient_norms, _TRAINER
    ),
    ("sac.target_update.polyak", "script"): partial(twin_details.measure_target_update, _PROGRAM),
    ("sac.target_update.parameter", "script"): partial(
        twin_details.measure_target_update, _PROGRAM
    ),
    ("sac.target_update.interval", "script"): partial(sac.measure_target_interval, _PROGRAM),
    ("sac.learning_starts", "script"): partial(twin_details.measure_learning_starts, _PROGRAM),
    ("sac.update_ratio", "script"): partial(
        twin_details.measure_update_ratio, ("critic", "actor"), _PROGRAM
    ),
    ("sac.update_schedule", "script"): partial(sac.measure_update_schedule, _PROGRAM),
    ("sac.vectorisation", "script"): partial(
        twin_details.measure_steps_and_updates_of_several_environments, _PROGRAM
    ),
    ("sac.networks", "script"): partial(twin_details.measure_network_architecture, _PROGRAM),
    ("sac.networks.initialisation", "script"): partial(
        sac.measure_initialisation_of_first_layer, _PROGRAM
    ),
    ("sac.gradient_clip", "script"): partial(twin_details.measure_clipped_gradient_norms, _PROGRAM),
    ("sac.temperature.learning_rate", "script"): partial(
        sac.measure_temperature_learning_rate, _PROGRAM
    ),
    ("sac.reward_scaling", "script"): partial(sac.measure_reward_scaling, _PROGRAM),
    ("sac.adam.epsilon", "script"): partial(twin_details.measure_adam_epsilon, _PROGRAM),
    ("sac.update_order", "script"): _measure_update_order,
}

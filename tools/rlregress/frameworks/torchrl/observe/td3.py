"""Probes of twin delayed deep deterministic policy gradient: its loss, trainer and program."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rlregress.frameworks.torchrl.observe.drivers import twin_losses, twin_programs, twin_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements import td3, twin_details

_LOSSES: Any = partial(twin_losses.Driver, "td3")
_TRAINER: Any = partial(twin_trainers.Driver, "td3")
_POLICIES: Any = partial(twin_programs.PolicyDriver, "td3")
_PROGRAM: Any = partial(twin_programs.Driver, "td3")
PROBES: Mapping[tuple[str, str], Raw] = {
    ("td3.critic_loss.scale", "library"): partial(twin_details.measure_critic_loss_scale, _LOSSES),
    ("td3.critic_loss.reduction", "library"): partial(
        twin_details.measure_critic_loss_reduction, _LOSSES
    ),
    ("td3.critic_loss.distance", "library"): partial(
        twin_details.measure_critic_loss_distance, _LOSSES
    ),
    ("td3.target.minimum", "library"): partial(twin_details.measure_target, _LOSSES),
    ("td3.target.bootstrap", "library"): partial(twin_details.measure_target_bootstrap, _LOSSES),
    ("td3.target_noise.law", "library"): partial(td3.measure_smoothing_noise, _LOSSES),
    ("td3.target_noise.bounds", "library"): partial(td3.measure_shares_beyond_bounds, _LOSSES),
    ("td3.target_noise.draw", "library"): partial(
        td3.measure_deviation_of_noise_over_batch, _LOSSES
    ),
    ("td3.target_noise.parameter", "library"): partial(
        td3.measure_noise_with_bound_parameter, _LOSSES
    ),
    ("td3.actor_loss", "library"): partial(twin_details.measure_actor_loss, _LOSSES),
    ("td3.action.bounding", "library"): partial(td3.measure_action_bounding, _LOSSES),
    ("td3.exploration.noise", "library"): partial(td3.measure_exploration_noise, _LOSSES),
    ("td3.exploration.default", "library"): partial(td3.measure_default_exploration_noise, _LOSSES),
    ("td3.target_update.polyak", "library"): partial(twin_details.measure_target_update, _LOSSES),
    ("td3.target_update.parameter", "library"): partial(
        twin_details.measure_target_update, _LOSSES
    ),
    ("td3.target.bootstrap", "trainer"): partial(twin_details.measure_target_bootstrap, _TRAINER),
    ("td3.policy_delay", "trainer"): partial(td3.measure_policy_delay, _TRAINER),
    ("td3.learning_starts", "trainer"): partial(twin_details.measure_learning_starts, _TRAINER),
    ("td3.gradient_clip", "trainer"): partial(
        twin_details.measure_clipped_gradient_norms, _TRAINER
    ),
    ("td3.action.bounding", "script"): partial(td3.measure_action_bounding, _POLICIES),
    ("td3.exploration.noise", "script"): partial(td3.measure_exploration_noise, _POLICIES),
    ("td3.exploration.default", "script"): partial(
        td3.measure_default_exploration_noise, _POLICIES
    ),
    ("td3.exploration.environments", "script"): partial(
        td3.measure_exploration_of_several_environments, _PROGRAM
    ),
    ("td3.exploration.warmup", "script"): partial(td3.measure_warmup_actions_on_bounds, _PROGRAM),
    ("td3.policy_delay", "script"): partial(td3.measure_policy_delay, _PROGRAM),
    ("td3.target_update.polyak", "script"): partial(twin_details.measure_target_update, _PROGRAM),
    ("td3.target_update.parameter", "script"): partial(
        twin_details.measure_target_update, _PROGRAM
    ),
    ("td3.learning_starts", "script"): partial(twin_details.measure_learning_starts, _PROGRAM),
    ("td3.update_ratio", "script"): partial(
        twin_details.measure_update_ratio, ("critic",), _PROGRAM
    ),
    ("td3.vectorisation", "script"): partial(
        twin_details.measure_steps_and_updates_of_several_environments, _PROGRAM
    ),
    ("td3.networks", "script"): partial(twin_details.measure_network_architecture, _PROGRAM),
    ("td3.gradient_clip", "script"): partial(twin_details.measure_clipped_gradient_norms, _PROGRAM),
    ("td3.replay.action", "script"): partial(twin_details.measure_replay_action, _PROGRAM),
    ("td3.adam.epsilon", "script"): partial(twin_details.measure_adam_epsilon, _PROGRAM),
}

"""Probes of deep deterministic policy gradients: measurements on the driver."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.torchrl.observe.drivers.ddpg import Driver
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements import ddpg

PROBES: dict[tuple[str, str], Raw] = {
    ("ddpg.networks", "library"): partial(ddpg.measure_number_of_networks, Driver),
    ("ddpg.target.action", "library"): partial(ddpg.measure_target_action, Driver),
    ("ddpg.target.terminal", "library"): partial(ddpg.measure_target_terminal, Driver),
    ("ddpg.loss.values", "library"): partial(ddpg.measure_critic_loss, Driver),
    ("ddpg.loss.policy", "library"): partial(ddpg.measure_actor_loss, Driver),
    ("ddpg.policy_delay", "trainer"): partial(ddpg.measure_policy_delay, Driver),
    ("ddpg.target_update.share", "trainer"): partial(ddpg.measure_target_share, Driver),
    ("ddpg.exploration.noise", "trainer"): partial(ddpg.measure_exploration_noise, Driver),
    ("ddpg.exploration.default", "trainer"): partial(
        ddpg.measure_default_exploration_noise, Driver
    ),
    ("ddpg.learning_starts", "trainer"): partial(ddpg.measure_learning_starts, Driver),
    ("ddpg.warmup.draw", "trainer"): partial(ddpg.measure_new_draws_of_warmup, Driver),
    ("ddpg.gradient.clip", "trainer"): partial(ddpg.measure_clipped_gradient_norm, Driver),
}

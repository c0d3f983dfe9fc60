"""Probes of deep deterministic policy gradients: measurements on the driver."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.torchrl.observe.drivers.ddpg import Driver
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements import ddpg

PROBES: dict[tuple[str, str], Raw] = {
    ("ddpg.networks", "library"): partial(ddpg.networks, Driver),
    ("ddpg.target.action", "library"): partial(ddpg.target_action, Driver),
    ("ddpg.target.terminal", "library"): partial(ddpg.target_terminal, Driver),
    ("ddpg.loss.values", "library"): partial(ddpg.critic_loss, Driver),
    ("ddpg.loss.policy", "library"): partial(ddpg.actor_loss, Driver),
    ("ddpg.policy_delay", "trainer"): partial(ddpg.policy_delay, Driver),
    ("ddpg.target_update.share", "trainer"): partial(ddpg.target_share, Driver),
    ("ddpg.exploration.noise", "trainer"): partial(ddpg.exploration_noise, Driver),
    ("ddpg.exploration.default", "trainer"): partial(ddpg.exploration_default, Driver),
    ("ddpg.learning_starts", "trainer"): partial(ddpg.learning_starts, Driver),
    ("ddpg.warmup.draw", "trainer"): partial(ddpg.warmup_draw, Driver),
    ("ddpg.gradient.clip", "trainer"): partial(ddpg.gradient_clip, Driver),
}

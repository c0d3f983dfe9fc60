"""Probes of DDPG: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rlregress.frameworks.base import Probe
from rlregress.frameworks.sb3.drivers.ddpg import Driver
from rlregress.measurements import ddpg

PROBES: Mapping[str, Probe] = {
    "ddpg.networks": partial(ddpg.networks, Driver),
    "ddpg.target.action": partial(ddpg.target_action, Driver),
    "ddpg.target.terminal": partial(ddpg.target_terminal, Driver),
    "ddpg.loss.values": partial(ddpg.critic_loss, Driver),
    "ddpg.loss.policy": partial(ddpg.actor_loss, Driver),
    "ddpg.policy_delay": partial(ddpg.policy_delay, Driver),
    "ddpg.target_update.share": partial(ddpg.target_share, Driver),
    "ddpg.exploration.noise": partial(ddpg.exploration_noise, Driver),
    "ddpg.exploration.default": partial(ddpg.exploration_default, Driver),
    "ddpg.learning_starts": partial(ddpg.learning_starts, Driver),
    "ddpg.warmup.draw": partial(ddpg.warmup_draw, Driver),
    "ddpg.gradient.clip": partial(ddpg.gradient_clip, Driver),
}

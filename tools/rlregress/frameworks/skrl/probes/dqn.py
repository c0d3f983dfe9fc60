"""Probes of DQN: measurements on the driver of its class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rlregress.frameworks.base import Probe
from rlregress.frameworks.skrl.drivers.dqn import Driver
from rlregress.measurements import dqn

PROBES: Mapping[str, Probe] = {
    "dqn.target.double": partial(dqn.target_double, Driver),
    "dqn.target.ties": partial(dqn.target_ties, Driver),
    "dqn.target.terminal": partial(dqn.target_terminal, Driver),
    "dqn.loss.kind": partial(dqn.loss_kind, Driver),
    "dqn.gradient.clip": partial(dqn.gradient_clip, Driver),
    "dqn.target_update.interval": partial(dqn.target_update_interval, Driver),
    "dqn.target_update.environments": partial(dqn.target_update_environments, Driver),
    "dqn.target_update.share": partial(dqn.target_update_share, Driver),
    "dqn.epsilon.schedule": partial(dqn.epsilon_schedule, Driver),
    "dqn.epsilon.deterministic": partial(dqn.epsilon_deterministic, Driver),
    "dqn.learning_starts": partial(dqn.learning_starts, Driver),
    "dqn.train_frequency": partial(dqn.train_frequency, Driver),
}

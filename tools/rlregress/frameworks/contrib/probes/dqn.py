"""Probes of DQN: measurements on the driver of QR-DQN."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sb3_contrib import QRDQN

from rlregress.frameworks.base import Probe
from rlregress.frameworks.contrib.drivers.dqn import Driver
from rlregress.frameworks.sb3.probes import traps
from rlregress.measurements import dqn

PROBES: Mapping[str, Probe] = {
    "dqn.target.double": partial(dqn.target_double, Driver),
    "dqn.target.ties": partial(dqn.target_ties, Driver),
    "dqn.target.terminal": partial(dqn.target_terminal, Driver),
    "dqn.gradient.clip": partial(dqn.gradient_clip, Driver),
    "dqn.target_update.interval": partial(dqn.target_update_interval, Driver),
    "dqn.target_update.environments": partial(dqn.target_update_environments, Driver),
    "dqn.target_update.share": partial(dqn.target_update_share, Driver),
    "dqn.epsilon.schedule": partial(dqn.epsilon_schedule, Driver),
    "dqn.epsilon.deterministic": partial(dqn.epsilon_deterministic, Driver),
    "dqn.learning_starts": partial(dqn.learning_starts, Driver),
    "dqn.train_frequency": partial(dqn.train_frequency, Driver),
    "dqn.exploration.draw": partial(traps.exploration_draw, QRDQN),
    "target.hard_update_period": partial(traps.hard_update_period, Driver),
}
ABSENT: Mapping[str, str] = {
    "dqn.loss.kind": "regresses quantiles (qrdqn.loss.distance)",
}

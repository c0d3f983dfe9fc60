"""Probes of deep Q-networks: measurements on the driver."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.torchrl.observe.drivers.dqn import Driver
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements import dqn

PROBES: dict[tuple[str, str], Raw] = {
    ("dqn.target.double", "library"): partial(dqn.target_double, Driver),
    ("dqn.target.ties", "library"): partial(dqn.target_ties, Driver),
    ("dqn.target.terminal", "library"): partial(dqn.target_terminal, Driver),
    ("dqn.loss.kind", "library"): partial(dqn.loss_kind, Driver),
    ("dqn.epsilon.deterministic", "library"): partial(dqn.epsilon_deterministic, Driver),
    ("dqn.gradient.clip", "trainer"): partial(dqn.gradient_clip, Driver),
    ("dqn.target_update.interval", "trainer"): partial(dqn.target_update_interval, Driver),
    ("dqn.target_update.environments", "trainer"): partial(dqn.target_update_environments, Driver),
    ("dqn.target_update.share", "trainer"): partial(dqn.target_update_share, Driver),
    ("dqn.epsilon.schedule", "trainer"): partial(dqn.epsilon_schedule, Driver),
    ("dqn.learning_starts", "trainer"): partial(dqn.learning_starts, Driver),
    ("dqn.train_frequency", "trainer"): partial(dqn.train_frequency, Driver),
}

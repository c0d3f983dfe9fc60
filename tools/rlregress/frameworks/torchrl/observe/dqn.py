"""Probes of deep Q-networks: measurements on the driver."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.torchrl.observe.drivers.dqn import Driver
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements import dqn

PROBES: dict[tuple[str, str], Raw] = {
    ("dqn.target.double", "library"): partial(dqn.measure_double_q_target, Driver),
    ("dqn.target.ties", "library"): partial(dqn.measure_target_of_tied_actions, Driver),
    ("dqn.target.terminal", "library"): partial(dqn.measure_target_terminal, Driver),
    ("dqn.loss.kind", "library"): partial(dqn.measure_loss_kind, Driver),
    ("dqn.epsilon.deterministic", "library"): partial(
        dqn.measure_deterministic_exploration, Driver
    ),
    ("dqn.gradient.clip", "trainer"): partial(dqn.measure_clipped_gradient_norm, Driver),
    ("dqn.target_update.interval", "trainer"): partial(dqn.measure_target_update_interval, Driver),
    ("dqn.target_update.environments", "trainer"): partial(
        dqn.measure_target_update_interval_of_several_environments, Driver
    ),
    ("dqn.target_update.share", "trainer"): partial(dqn.measure_target_update_share, Driver),
    ("dqn.epsilon.schedule", "trainer"): partial(dqn.measure_epsilon_schedule, Driver),
    ("dqn.learning_starts", "trainer"): partial(dqn.measure_learning_starts, Driver),
    ("dqn.train_frequency", "trainer"): partial(dqn.measure_train_frequency, Driver),
}

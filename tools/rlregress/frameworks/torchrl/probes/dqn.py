"""Probes of deep Q-networks: measurements on the drivers of the parts and of the trainer."""

from __future__ import annotations

from functools import partial
from typing import Dict, Tuple

from rlregress.frameworks.torchrl.drivers.dqn import Library, Trainer
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw
from rlregress.measurements import dqn

PROBES: Dict[Tuple[str, str], Raw] = {
    ("dqn.target.double", "library"): partial(dqn.target_double, Library),
    ("dqn.target.ties", "library"): partial(dqn.target_ties, Library),
    ("dqn.target.terminal", "library"): partial(dqn.target_terminal, Library),
    ("dqn.loss.kind", "library"): partial(dqn.loss_kind, Library),
    ("dqn.epsilon.deterministic", "library"): partial(dqn.epsilon_deterministic, Library),
    ("dqn.gradient.clip", "trainer"): partial(dqn.gradient_clip, Trainer),
    ("dqn.target_update.interval", "trainer"): partial(dqn.target_update_interval, Trainer),
    ("dqn.target_update.environments", "trainer"): partial(dqn.target_update_environments, Trainer),
    ("dqn.target_update.share", "trainer"): partial(dqn.target_update_share, Trainer),
    ("dqn.epsilon.schedule", "trainer"): partial(dqn.epsilon_schedule, Trainer),
    ("dqn.learning_starts", "trainer"): partial(dqn.learning_starts, Trainer),
    ("dqn.train_frequency", "trainer"): partial(dqn.train_frequency, Trainer),
}

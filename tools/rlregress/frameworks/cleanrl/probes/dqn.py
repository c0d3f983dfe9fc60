"""Probes of ``dqn.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.frameworks.cleanrl.drivers.dqn import measured
from rlregress.measurements import dqn

PROBES: dict[str, Callable[..., np.ndarray]] = {
    "dqn.target.double": measured(dqn.target_double),
    "dqn.target.ties": measured(dqn.target_ties),
    "dqn.target.terminal": measured(dqn.target_terminal),
    "dqn.loss.kind": measured(dqn.loss_kind),
    "dqn.gradient.clip": measured(dqn.gradient_clip),
    "dqn.target_update.interval": measured(dqn.target_update_interval),
    "dqn.target_update.environments": measured(dqn.target_update_environments),
    "dqn.target_update.share": measured(dqn.target_update_share),
    "dqn.epsilon.schedule": measured(dqn.epsilon_schedule),
    "dqn.epsilon.deterministic": measured(dqn.epsilon_deterministic),
    "dqn.learning_starts": measured(dqn.learning_starts),
    "dqn.train_frequency": measured(dqn.train_frequency),
}

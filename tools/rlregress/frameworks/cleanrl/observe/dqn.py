"""Probes of ``dqn.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.frameworks.cleanrl.observe.drivers.dqn import measured
from rlregress.measurements import dqn

PROBES: dict[str, Callable[..., np.ndarray]] = {
    **{id: measured(measure) for id, measure in dqn.MEASUREMENTS.items()},
    "target.hard_update_period": measured(dqn.measure_steps_between_hard_updates),
}

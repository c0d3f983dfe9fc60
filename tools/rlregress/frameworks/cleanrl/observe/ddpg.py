"""Probes of ``ddpg_continuous_action.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.frameworks.cleanrl.observe.drivers.ddpg import measured
from rlregress.measurements import ddpg

PROBES: dict[str, Callable[..., np.ndarray]] = {
    id: measured(measure) for id, measure in ddpg.MEASUREMENTS.items()
}

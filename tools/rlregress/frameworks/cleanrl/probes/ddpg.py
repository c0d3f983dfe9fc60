"""Probes of ``ddpg_continuous_action.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.frameworks.cleanrl.drivers.ddpg import measured
from rlregress.measurements import ddpg

PROBES: dict[str, Callable[..., np.ndarray]] = {
    id: measured(measure) for id, measure in ddpg.MEASUREMENTS.items()
}

#: why none of it can be asked of a script that was written for gym
ENDS_FOR_GYM = (
    "the script of 0.4.8 ends in an error, as it makes its policy without the environment that "
    "this needs"
)

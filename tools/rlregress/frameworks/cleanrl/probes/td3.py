"""Probes of ``td3_continuous_action.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rlregress.frameworks.cleanrl.drivers import measured_by
from rlregress.frameworks.cleanrl.drivers.twins import TD3, Driver
from rlregress.measurements.td3 import MEASUREMENTS

_measured = measured_by(partial(Driver, TD3))
PROBES: Mapping[str, Callable[..., np.ndarray]] = {
    detail: _measured(measure) for detail, measure in MEASUREMENTS.items()
}

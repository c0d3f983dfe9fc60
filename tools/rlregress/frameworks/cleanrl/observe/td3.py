"""Probes of ``td3_continuous_action.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rlregress.frameworks.cleanrl.observe.drivers import make_probe_maker
from rlregress.frameworks.cleanrl.observe.drivers.twins import TD3, Driver
from rlregress.measurements import td3

_measured = make_probe_maker(partial(Driver, TD3))
PROBES: Mapping[str, Callable[..., np.ndarray]] = {
    id: _measured(measure) for id, measure in td3.MEASUREMENTS.items()
}

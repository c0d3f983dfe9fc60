"""Probes of ``sac_continuous_action.py``: measurements on the driver of the script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rlregress.frameworks.cleanrl.observe.drivers import make_probe_maker
from rlregress.frameworks.cleanrl.observe.drivers.twins import SAC, Driver
from rlregress.measurements import sac

_measured = make_probe_maker(partial(Driver, SAC))
PROBES: Mapping[str, Callable[..., np.ndarray]] = {
    id: _measured(measure) for id, measure in sac.MEASUREMENTS.items()
}

"""Probes of SAC: measurements on its driver, with a policy of skrl's Gaussian mixin."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rlregress.frameworks.skrl.observe.drivers.twins import Driver
from rlregress.measurements import sac
from rlregress.probing.interface import Probe

_DRIVER = partial(Driver, "sac")
ABSENT: Mapping[str, str] = {
    "sac.log_prob.action_scale": "draws actions in the environment's units, and scales none",
}
PROBES: Mapping[str, Probe] = {
    id: partial(measure, _DRIVER) for id, measure in sac.MEASUREMENTS.items() if id not in ABSENT
}

"""Probes of SAC: measurements on its driver, with a policy of skrl's Gaussian mixin."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rlregress.frameworks.base import Probe
from rlregress.frameworks.skrl.drivers.twins import Driver
from rlregress.measurements.sac import MEASUREMENTS

ABSENT: Mapping[str, str] = {
    "sac.log_prob.action_scale": "draws actions in the environment's units, and scales none",
}
PROBES: Mapping[str, Probe] = {
    detail: partial(measure, partial(Driver, "sac"))
    for detail, measure in MEASUREMENTS.items()
    if detail not in ABSENT
}

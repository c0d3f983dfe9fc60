"""Probes of the advantages of ``ppo_continuous_action.py``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.frameworks.cleanrl.observe.helpers.advantages import (
    measure_advantages,
    measure_value_targets,
)
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs

PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "gae.truncation": measure_advantages,
    "gae.value_target": measure_value_targets,
}

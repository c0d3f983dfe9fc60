"""Numbers that a framework logs about its updates: entropy, divergence, temperature."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

#: algorithm -> the diagnostics that it has, whether or not a framework exposes them
DIAGNOSTICS = {"ppo": ("entropy", "kl"), "sac": ("entropy", "temperature"), "td3": ()}


def average_diagnostics_at_end(
    algorithm: str, logged: Mapping[str, Sequence[float]]
) -> dict[str, float | None]:
    """Return each diagnostic of an algorithm: its mean over the last tenth of the updates.

    Args:
        logged: diagnostic -> its values in the order of the updates; see
            ``probing.interface.Trained``.

    Returns:
        diagnostic -> number; None if the framework exposes none, or it is not finite.
    """
    return {name: _average_last_tenth(logged.get(name, ())) for name in DIAGNOSTICS[algorithm]}


def _average_last_tenth(values: Sequence[float]) -> float | None:
    if not len(values):
        return None
    mean = float(np.mean(values[-math.ceil(len(values) / 10) :]))
    return mean if math.isfinite(mean) else None

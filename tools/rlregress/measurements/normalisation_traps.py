"""The details of undocumented behaviour of normalisation, measured by walks as the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rlregress.measurements.normalisation import Inputs, Walk, showing


def terminal_statistics(walk: Walk, i: Inputs) -> np.ndarray:
    """Return the observation of a reset, and two after it."""
    x, terminal = i["observations"], int(i["terminal"])
    # the observation after the terminal one is that of the reset before the next step
    steps = np.delete(x, terminal + 1)
    ends = np.arange(1, len(steps)) == terminal
    resets = np.where(np.roll(ends, 1), x[terminal + 1], x[0])
    return walk([showing(steps, resets=resets, terminated=ends)]).observations[-3:, 0]


def _alternate(walk: Walk, i: Inputs) -> np.ndarray:
    signs = np.where(np.arange(int(i["count"])) % 2, -1.0, 1.0)
    return walk([showing(i["offset"] + i["spread"] * signs)]).observations[:, 0]


def early_scale(walk: Walk, i: Inputs) -> np.ndarray:
    """Return the last two of a few observations around an offset."""
    return _alternate(walk, i)[-2:]


def large_offset(walk: Walk, i: Inputs) -> np.ndarray:
    """Return whether observations around an offset are no numbers, far too large or too small."""
    numbers = _alternate(walk, i)
    late = np.abs(numbers[-50:][np.isfinite(numbers[-50:])])
    broken = not np.all(np.isfinite(numbers))
    return np.array([broken, np.max(late) > 3.0, np.max(late) < 0.5], dtype=np.float64)


def environments(walk: Walk, i: Inputs) -> np.ndarray:
    """Return the observations of two environments side by side, those of the first one first."""
    scripts = [showing(i[name]) for name in ("first", "second")]
    return walk(scripts).observations[1:].T.reshape(-1)


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[Walk, Inputs], np.ndarray]] = {
    "normalisation.terminal_observation.statistics": terminal_statistics,
    "normalisation.observation.early_scale": early_scale,
    "normalisation.observation.large_offset": large_offset,
    "normalisation.environments": environments,
}

"""Details of undocumented normalisation, measured by walks through normalised environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rlregress.measurements.normalisation import Inputs, Walk, make_script_of_observations


def measure_observations_after_reset(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the normalised observations of a reset and of the two steps after it."""
    x, terminal = inputs["observations"], inputs["terminal"]
    # the observation after the terminal one is that of the reset before the next step
    steps = np.delete(x, terminal + 1)
    ends = np.arange(1, len(steps)) == terminal
    resets = np.where(np.roll(ends, 1), x[terminal + 1], x[0])
    return walk([make_script_of_observations(steps, resets=resets, terminated=ends)]).observations[
        -3:, 0
    ]


def _walk_on_alternating_observations(walk: Walk, inputs: Inputs) -> np.ndarray:
    signs = np.where(np.arange(inputs["count"]) % 2, -1.0, 1.0)
    return walk(
        [make_script_of_observations(inputs["offset"] + inputs["spread"] * signs)]
    ).observations[:, 0]


def measure_last_of_few_offset_observations(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the last two normalised observations of a few that alternate around an offset."""
    return _walk_on_alternating_observations(walk, inputs)[-2:]


def flag_failures_at_large_offset(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return flags: some normalised observation is not finite; the largest of the last 50 is above
    3; it is below 0.5.
    """
    numbers = _walk_on_alternating_observations(walk, inputs)
    late = np.abs(numbers[-50:][np.isfinite(numbers[-50:])])
    broken = not np.all(np.isfinite(numbers))
    return np.array([broken, np.max(late) > 3.0, np.max(late) < 0.5])


def measure_observations_of_two_environments(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the normalised observations of two environments, those of the first one first."""
    scripts = [make_script_of_observations(inputs[name]) for name in ("first", "second")]
    return walk(scripts).observations[1:].T.reshape(-1)


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[Walk, Inputs], np.ndarray]] = {
    "normalisation.terminal_observation.statistics": measure_observations_after_reset,
    "normalisation.observation.early_scale": measure_last_of_few_offset_observations,
    "normalisation.observation.large_offset": flag_failures_at_large_offset,
    "normalisation.environments": measure_observations_of_two_environments,
}

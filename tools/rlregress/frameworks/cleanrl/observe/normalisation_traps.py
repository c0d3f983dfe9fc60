"""Probes of undocumented behaviour of the PPO script's wrappers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.frameworks.cleanrl.observe.helpers.normalised_environments import (
    Walk,
    alternating,
    environments,
)
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs

SourceProbe = Callable[[Source, Inputs], Any]


def _terminal_statistics(source: Source, i: Inputs) -> np.ndarray:
    x, terminal = i["observations"], int(i["terminal"])
    steps = np.delete(x, terminal + 1)
    playback = {
        "observations": steps,
        "terminated": np.arange(1, len(steps)) == terminal,
        "resets": [x[terminal + 1]],
    }
    return Walk(environments(source, playback), len(steps) - 1).observations[-3:, 0]


def _alternating(source: Source, i: Inputs) -> np.ndarray:
    x = alternating(i)
    return Walk(environments(source, {"observations": x}), len(x) - 1).observations[:, 0]


def _large_offset(source: Source, i: Inputs) -> np.ndarray:
    numbers = _alternating(source, i)
    late = np.abs(numbers[-50:][np.isfinite(numbers[-50:])])
    broken = not np.all(np.isfinite(numbers))
    return np.array([broken, np.max(late) > 3.0, np.max(late) < 0.5], dtype=np.float64)


def _environments(source: Source, i: Inputs) -> np.ndarray:
    both = environments(source, {"observations": i["first"]}, {"observations": i["second"]})
    return Walk(both, len(i["first"]) - 1).observations[1:].T.reshape(-1)


PROBES: Mapping[str, SourceProbe] = {
    "normalisation.terminal_observation.statistics": _terminal_statistics,
    "normalisation.observation.early_scale": lambda s, i: _alternating(s, i)[-2:],
    "normalisation.observation.large_offset": _large_offset,
    "normalisation.environments": _environments,
}

ABSENT: Mapping[str, str] = {
    "normalisation.terminal_observation": "its off-policy scripts normalise nothing",
    "normalisation.replay": "its off-policy scripts normalise nothing",
    "normalisation.fixed.epsilon": "has no normalisation with statistics that are handed over",
    "normalisation.reward_clip.one_sided": (
        "clips rewards in the script itself, with both limits written there"
    ),
}

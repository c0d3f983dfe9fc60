"""Probes of what a user hands over, and of the next observation that is stored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers import critics, small_runs
from rlregress.frameworks.cleanrl.probes.helpers.target_noise import smoothed_actions
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.scripted import ending_both_ways

_SAC, _TD3 = "sac_continuous_action", "td3_continuous_action"


def _coefficient(script: str, source: Source, inputs: Inputs) -> np.ndarray:
    return critics.polyak(script, source, inputs, tau=float(inputs["coefficient"]))


def _target_noise(source: Source, inputs: Inputs) -> np.ndarray:
    wide = smoothed_actions(source, inputs, True, policy_noise=5.0, noise_clip=0.3)
    narrow = smoothed_actions(source, inputs, True, policy_noise=0.01, noise_clip=0.5)
    return np.array([np.max(np.abs(wide)), np.std(narrow)])


def _next_observation(source: Source, inputs: Inputs) -> np.ndarray:
    ended = small_runs.off_policy(source, _SAC, int(inputs["steps"]), ending_both_ways())
    buffer = ended["rb"]
    if hasattr(buffer, "buffer"):
        stored = [float(np.ravel(transition[3])[0]) for transition in buffer.buffer]
    else:
        stored = buffer.next_observations.reshape(-1).tolist()
    return np.array([stored[2], stored[4]])


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "sac.target_update.parameter": partial(_coefficient, _SAC),
    "td3.target_update.parameter": partial(_coefficient, _TD3),
    "td3.target_noise.parameter": _target_noise,
    "replay.next_observation": _next_observation,
}

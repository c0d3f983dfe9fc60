"""The probe of the next observation that a replay buffer stores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.frameworks.cleanrl.observe.helpers import small_runs
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import make_env_truncated_then_terminated

_SAC = "sac_continuous_action"


def _measure_next_observation(source: Source, inputs: Inputs) -> np.ndarray:
    script_run = small_runs.run_off_policy_script(
        source, _SAC, int(inputs["steps"]), make_env_truncated_then_terminated()
    )
    buffer = script_run["rb"]
    if hasattr(buffer, "buffer"):
        stored = [float(np.ravel(transition[3])[0]) for transition in buffer.buffer]
    else:
        stored = buffer.next_observations.reshape(-1).tolist()
    return np.array([stored[2], stored[4]])


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "replay.next_observation": _measure_next_observation,
}

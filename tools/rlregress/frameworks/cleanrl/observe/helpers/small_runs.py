"""Small runs of whole scripts on an environment that is known step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.frameworks.cleanrl.running import OnStep, ScriptRun, run_script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.scripted import Scripted


def run_off_policy_script(
    source: Source,
    script: str,
    steps: int,
    environment: Any = None,
    *,
    shimmed: bool = True,
    on_start: OnStep | None = None,
    **settings: Any,
) -> ScriptRun:
    """Run an off-policy script with a small replay buffer; without updates unless requested."""
    overrides = {
        "total_timesteps": steps,
        "buffer_size": 4 * steps,
        "learning_starts": steps,
        "batch_size": 2 * steps,
        **settings,
    }
    played = Scripted() if environment is None else environment
    path = source.parse_script(script).path
    return run_script(path, overrides, make_env=lambda: played, shimmed=shimmed, on_start=on_start)


def count_stored_transitions(buffer: Any) -> int:
    """Return how many transitions a script's replay buffer holds."""
    return len(buffer.buffer) if hasattr(buffer, "buffer") else int(buffer.size())


def read_stored_rewards(buffer: Any) -> np.ndarray:
    """Return the rewards in a script's replay buffer, in the order in which they are stored."""
    if hasattr(buffer, "buffer"):
        return np.array([float(transition[2]) for transition in buffer.buffer])
    return np.array(buffer.rewards[: buffer.size()], dtype=np.float64).reshape(-1)

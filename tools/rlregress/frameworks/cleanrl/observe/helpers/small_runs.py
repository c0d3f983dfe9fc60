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


def read_stored_columns(buffer: Any) -> dict[str, np.ndarray]:
    """Return the columns of a script's replay buffer by name, as stored, [rows, ..] each."""
    names = ("observations", "actions", "rewards", "next_observations", "dones")
    if hasattr(buffer, "buffer"):
        columns = zip(*buffer.buffer, strict=True) if buffer.buffer else [()] * len(names)
        return {name: np.array(rows) for name, rows in zip(names, columns, strict=False)}
    return {name: getattr(buffer, name)[: buffer.size()] for name in names}


def read_stored_rewards(buffer: Any) -> np.ndarray:
    """Return the rewards in a script's replay buffer, in the order in which they are stored."""
    return read_stored_columns(buffer)["rewards"].astype(np.float64).reshape(-1)

"""The environments that a script makes, with its wrappers around scripted environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.drivers.parts import find_first_variable
from rlregress.frameworks.cleanrl.running import start_script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements.normalisation import Script, Walked, count_steps_of_script
from rlregress.probing.scripted import Scripted


def walk_through_environments(environments: Any, steps: int) -> Walked:
    """Reset a script's environments and step them with actions of 0."""
    count = getattr(environments, "num_envs", 1)
    observations: list[Any] = [_reset_environments(environments)]
    rewards: list[Any] = []
    returns: list[float] = []
    for _ in range(steps):
        action = np.zeros((count, 1), dtype=np.float32)
        # 0.4.8 hands tensors to its vectorised environments
        is_old = hasattr(environments, "step_async") and hasattr(environments, "device")
        outcome = environments.step(torch.as_tensor(action) if is_old else action)
        observations.append(outcome[0])
        rewards.append(outcome[1])
        returns += _read_episode_returns(outcome[-1])
    return Walked(
        _make_table_of_columns(observations, count), _make_table_of_columns(rewards, count), returns
    )


def walk_through_normalised(
    source: Source, scripts: Sequence[Script], script: str = "ppo_continuous_action", **flags: Any
) -> Walked:
    """Return the observations and rewards of scripted environments in a script's wrappers.

    Environment i that the script makes plays ``scripts[i]``.
    """
    scripts_left = list(scripts)
    if len(scripts) > 1:
        flags["num_envs"] = len(scripts)
    run = start_script(
        source.parse_script(script).path, flags, lambda: Scripted(**scripts_left.pop(0))
    )
    environments = find_first_variable(run.globals, "environments", "envs", "env")
    return walk_through_environments(environments, count_steps_of_script(scripts[0]))


def _reset_environments(environments: Any) -> Any:
    returned = environments.reset()
    return returned[0] if isinstance(returned, tuple) else returned


def _make_table_of_columns(rows: list[Any], columns: int) -> np.ndarray:
    return np.array([np.asarray(row, dtype=np.float64).reshape(columns) for row in rows])


def _read_episode_returns(infos: Any) -> list[float]:
    """Return the episode returns in the infos of a step, in any of the forms that they have had."""
    if isinstance(infos, dict):
        infos = infos.get("final_info", [infos])
    episode_infos = [info for info in infos if info and "episode" in info]
    return [float(np.asarray(info["episode"]["r"]).reshape(())) for info in episode_infos]

"""The vectorised environments that a PPO script makes, around scripted environments."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.cleanrl import oldgym, shim
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.slices import run_slice_up_to_anchor
from rlregress.frameworks.cleanrl.stubs import CPU, make_arguments_of_script, replaced
from rlregress.measurements.normalisation import Script, Walked, count_steps_of_script
from rlregress.probing.scripted import Scripted

_ENVIRONMENT = "Playback-v0"


@contextlib.contextmanager
def provide_variables_to_make_environments(scripts: Sequence[Script]) -> Iterator[dict[str, Any]]:
    """Yield variables with which statements of CleanRL's script make scripted environments.

    Environment i that it makes plays ``scripts[i]``.
    """
    scripts_left = list(scripts)

    def make_scripted_environment(id: str, **_: Any) -> Scripted:
        del id
        return Scripted(**scripts_left.pop(0))

    old = oldgym.make_stub_modules(make_scripted_environment, lambda *_: None)
    classes = {
        name: member
        for module in old.values()
        for name, member in vars(module).items()
        if name[0].isupper()
    }
    with contextlib.ExitStack() as around:
        around.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", module="gymnasium")
        for owner, name, value in [
            *shim.list_patches_of_gymnasium(),
            (gymnasium, "make", make_scripted_environment),
        ]:
            around.enter_context(replaced(owner, name, value))
        yield {**classes, "old_gym": old["gym"]}


def _make_environments_of_script(
    source: Source, scripts: Sequence[Script], script: str = "ppo_continuous_action", **flags: Any
) -> Any:
    """Return the vectorised environments that CleanRL's script makes, around scripted ones."""
    program = source.parse_script(script)
    place = program.find_statement_binding("environments", "envs", "env")
    with provide_variables_to_make_environments(scripts) as variables:
        args = make_arguments_of_script(
            program,
            **{
                "env_id": _ENVIRONMENT,
                "gym_id": _ENVIRONMENT,
                "num_envs": len(scripts),
                "capture_video": False,
                **flags,
            },
        )
        old_gym = variables.pop("old_gym")
        if source.for_gym:
            variables["gym"] = old_gym
        variables.update(args=args, run_name="run", experiment_name="run", device=CPU)
        return run_slice_up_to_anchor(place, variables).get_first_bound("envs", "env")


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


def walk_through_normalised(source: Source, scripts: Sequence[Script], **options: Any) -> Walked:
    """Return the observations and rewards of scripted environments in a script's wrappers."""
    return walk_through_environments(
        _make_environments_of_script(source, scripts, **options), count_steps_of_script(scripts[0])
    )


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

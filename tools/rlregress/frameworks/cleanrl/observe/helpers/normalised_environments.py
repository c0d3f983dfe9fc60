"""A script's own environments, made by its own statement, around a scripted one."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.cleanrl import oldgym, shim
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.slices import run
from rlregress.frameworks.cleanrl.stubs import CPU, arguments, replaced
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted

_ENVIRONMENT = "Playback-v0"


def alternating(i: Inputs) -> np.ndarray:
    """``count`` numbers, in turn ``spread`` above and below ``offset``."""
    signs = np.where(np.arange(int(i["count"])) % 2, -1.0, 1.0)
    return i["offset"] + i["spread"] * signs


def _playback(
    observations: Sequence[float] = (0.0, 0.0), resets: Sequence[float] = (0.0,), **script: Any
) -> Scripted:
    """The first reset gives observations[0], step t [t + 1], a reset after it ``resets[t]``."""
    following = np.asarray(observations[1:])
    before = [observations[0], *np.resize(resets, len(following))]
    return Scripted(observations=before, next_observations=following, **{"rewards": 0.0, **script})


@contextlib.contextmanager
def playing(*playbacks: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the variables with which a script's statements make environments that play these.

    The first environment that it makes plays the first playback, and so on.
    """
    playbacks_left = [dict(playback) for playback in playbacks]

    def make(id: str, **_: Any) -> Scripted:
        del id
        return _playback(**playbacks_left.pop(0))

    old = oldgym.modules(make, lambda *_: None)
    classes = {
        name: member
        for module in old.values()
        for name, member in vars(module).items()
        if name[0].isupper()
    }
    with contextlib.ExitStack() as around:
        around.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", module="gymnasium")
        for owner, name, value in [*shim.patches(), (gymnasium, "make", make)]:
            around.enter_context(replaced(owner, name, value))
        yield {**classes, "old_gym": old["gym"]}


def environments(
    source: Source,
    *playbacks: Mapping[str, Any],
    script: str = "ppo_continuous_action",
    **flags: Any,
) -> Any:
    """The environments of a script around these playbacks, ready to be walked through."""
    program = source.script(script)
    place = program.bound("environments", "envs", "env")
    with playing(*playbacks) as variables:
        args = arguments(
            program,
            **{
                "env_id": _ENVIRONMENT,
                "gym_id": _ENVIRONMENT,
                "num_envs": len(playbacks),
                "capture_video": False,
                **flags,
            },
        )
        old_gym = variables.pop("old_gym")
        if source.for_gym:
            variables["gym"] = old_gym
        variables.update(args=args, run_name="run", experiment_name="run", device=CPU)
        return run(place, variables).any("envs", "env")


class Walk:
    """A reset and some steps of a script's environments, with actions of 0.

    Attributes:
        observations: what an agent is given, [steps + 1, environments], that of the reset first.
        rewards: [steps, environments].
        returns: of the episodes that ended, as reported.
    """

    def __init__(self, environments: Any, steps: int) -> None:
        count = getattr(environments, "num_envs", 1)
        observations: list[Any] = [_reset(environments)]
        rewards: list[Any] = []
        self.returns: list[float] = []
        for _ in range(steps):
            action = np.zeros((count, 1), dtype=np.float32)
            # 0.4.8 hands tensors to its vectorised environments
            is_old = hasattr(environments, "step_async") and hasattr(environments, "device")
            outcome = environments.step(torch.as_tensor(action) if is_old else action)
            observations.append(outcome[0])
            rewards.append(outcome[1])
            self.returns += _returns(outcome[-1])
        self.observations = _table(observations, count)
        self.rewards = _table(rewards, count) if rewards else np.zeros((0, count))


def _reset(environments: Any) -> Any:
    returned = environments.reset()
    return returned[0] if isinstance(returned, tuple) else returned


def _table(rows: list[Any], columns: int) -> np.ndarray:
    return np.array([np.asarray(row, dtype=np.float64).reshape(columns) for row in rows])


def _returns(infos: Any) -> list[float]:
    """Return the episode returns in the infos of a step, in any of the forms that they have had."""
    if isinstance(infos, dict):
        infos = infos.get("final_info", [infos])
    episode_infos = [info for info in infos if info and "episode" in info]
    return [float(np.asarray(info["episode"]["r"]).reshape(())) for info in episode_infos]

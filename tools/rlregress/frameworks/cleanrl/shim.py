"""The interface of Gymnasium 0.28 and 0.29, which the scripts expect, on top of a newer one.

Without it a script runs on Gymnasium 1.x and trains on rows that never happened: there an episode
that has ended is reset by the *next* step, which ignores its action, gives reward 0 and is stored
like any other. Only the interface is changed here, no arithmetic.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from rlregress.errors import UserError
from rlregress.probing.framework_errors import call_original

#: (object, name of the attribute, what it is to be while a script runs)
Patch = tuple[Any, str, Any]


def is_gymnasium_newer_than_scripts() -> bool:
    """Return whether the installed Gymnasium is newer than the one the scripts were written for."""
    return int(gymnasium.__version__.partition(".")[0]) >= 1


def list_patches_of_gymnasium() -> list[Patch]:
    """Return patches that give a newer Gymnasium the interface for which scripts were written.

    Raises:
        UserError: this Gymnasium cannot reset an environment within the step that ends an episode.
    """
    if not is_gymnasium_newer_than_scripts():
        return []
    parameters = inspect.signature(gymnasium.vector.SyncVectorEnv.__init__).parameters
    if "autoreset_mode" not in parameters:
        raise UserError(
            f"CleanRL's scripts cannot be run on gymnasium {gymnasium.__version__}, which resets "
            "environments one step late: expected gymnasium below 1.0 or at least 1.1; install "
            "one of them"
        )
    return [
        (
            gymnasium.vector,
            "SyncVectorEnv",
            _make_same_step_reset_class(gymnasium.vector.SyncVectorEnv),
        ),
        # the observation space was not an argument
        (
            gymnasium.wrappers,
            "TransformObservation",
            partial(gymnasium.wrappers.TransformObservation, observation_space=None),
        ),
        (gymnasium.wrappers, "GrayScaleObservation", gymnasium.wrappers.GrayscaleObservation),
        (gymnasium.wrappers, "FrameStack", gymnasium.wrappers.FrameStackObservation),
    ]


def _make_same_step_reset_class(base: Any) -> Any:
    from gymnasium.vector import AutoresetMode

    class SyncVectorEnv(base):
        """Resets within the last step of an episode and reports its end as Gymnasium 0.29 did."""

        def __init__(self, env_fns: Any, *args: Any, **kwargs: Any) -> None:
            kwargs.setdefault("autoreset_mode", AutoresetMode.SAME_STEP)
            call_original(super().__init__, env_fns, *args, **kwargs)

        def step(self, actions: Any) -> Any:
            outcome = call_original(super().step, actions)
            observations, rewards, terminations, truncations, infos = outcome
            if "final_obs" in infos:
                infos["final_observation"] = infos["final_obs"]
                infos["final_info"] = _split_infos_by_environment(
                    infos["final_info"], self.num_envs
                )
            return observations, rewards, terminations, truncations, infos

    return SyncVectorEnv


def _split_infos_by_environment(infos: Mapping[str, Any], environments: int) -> np.ndarray:
    """Return one dictionary per environment, or None where it has reported nothing."""
    rows = np.full(environments, None, dtype=object)
    for number in range(environments):
        info = _select_infos_of_environment(infos, number)
        rows[number] = info or None
    return rows


def _select_infos_of_environment(infos: Mapping[str, Any], number: int) -> dict[str, Any]:
    info: dict[str, Any] = {}
    for key, value in infos.items():
        # "_key" is a mask of the environments that "key" has values of
        mask = infos.get(f"_{key}")
        if mask is None or not mask[number]:
            continue
        is_table = isinstance(value, dict)
        info[key] = _select_infos_of_environment(value, number) if is_table else value[number]
    return info

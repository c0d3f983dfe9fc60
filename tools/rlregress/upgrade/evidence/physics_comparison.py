"""Physics of both versions: environments with the same seeds and actions, and stored policies."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.special import stdtrit

from rlregress import suite
from rlregress.model.recorded_traces import describe_first_differing_types
from rlregress.model.upgrade_result import PhysicsComparison
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence import runtime_process

#: environments whose physics is compared if gymnasium or mujoco changes.
ENVIRONMENTS = (
    "CartPole-v1", "Pendulum-v1", "MountainCarContinuous-v0", "Acrobot-v1", "InvertedPendulum-v4",
    "InvertedDoublePendulum-v4", "Reacher-v4", "Swimmer-v4", "Hopper-v4", "HalfCheetah-v4",
    "Walker2d-v4", "Ant-v4", "InvertedPendulum-v5", "Hopper-v5", "HalfCheetah-v5", "Walker2d-v5",
    "Ant-v5", "Humanoid-v5",
)  # fmt: skip
PHYSICS_STEPS = 200
#: how many episodes each stored policy plays.
EPISODES = 20


def compare_played_actions(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[PhysicsComparison]:
    """Compare the results of fixed actions on both versions."""
    return [
        _add_differing_types(_compare_environment(id, old[id], new[id]), old[id], new[id])
        for id in old
    ]


def _add_differing_types(
    without_types: PhysicsComparison, old: Mapping[str, Any], new: Mapping[str, Any]
) -> PhysicsComparison:
    """Return the comparison with the first difference of types, which is not one of numbers."""
    pairs = zip_longest(old.get("types", ()), new.get("types", ()), fillvalue=(math.inf, ""))
    for (old_row, old_types), (new_row, new_types) in pairs:
        if (old_row, old_types) != (new_row, new_types) and not without_types.note:
            step = int(min(old_row, new_row))
            first = step if without_types.step is None else min(step, without_types.step)
            words = "types change at another step"
            if old_types and new_types:
                words = describe_first_differing_types(old_types, new_types) or words
            return replace(without_types, step=first, types=words)
    return without_types


def list_stored_policies() -> list[Path]:
    """Return the files of stored policies."""
    return sorted((suite.locate_baselines() / "policies").glob("*.npz"))


def play_actions_and_policies(
    runtime: Runtime, path: Path, environments: Sequence[str] = ENVIRONMENTS
) -> Any:
    """Play fixed actions and stored policies on a version; return the rows of each environment."""
    job = {
        "environments": list(environments),
        "steps": PHYSICS_STEPS,
        "policies": {
            f"{path.stem} under a trained policy": str(path) for path in list_stored_policies()
        },
        "episodes": EPISODES,
    }
    return runtime_process.run_module_on_version(
        runtime, path, "rlregress.inside.physics_worker", job
    )


def _compare_environment(
    environment_id: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> PhysicsComparison:
    same = PhysicsComparison(environment=environment_id, step=None)
    if "error" in old and "error" in new:
        if old["is_lacking"] and new["is_lacking"]:
            return replace(same, note=f"neither version has it: {old['error']}")
        # an error of the machine, or ours, would hide that the versions differ
        note = "; ".join(dict.fromkeys((old["error"], new["error"])))
        return replace(same, note=note, missing="both versions")
    for label, played in (("old", old), ("new", new)):
        if "error" in played:
            return replace(same, note=str(played["error"]), missing=label)
    for step, (row, new_row) in enumerate(zip(old["rows"], new["rows"], strict=False)):
        if len(row) != len(new_row):
            shapes = f"{len(row) - 1} and {len(new_row) - 1} numbers"
            return replace(same, step=step, note=f"the observations have {shapes}")
        if row != new_row:
            end = min(_find_end_of_episode(answers, step) for answers in (old, new))
            rows_after = zip(old["rows"][step:end], new["rows"][step:end], strict=False)
            gaps = [max(abs(x - y) for x, y in zip(*rows, strict=True)) for rows in rows_after]
            returns = _describe_returns(old, new, step)
            return replace(same, step=step, at_first=gaps[0], largest=max(gaps), returns=returns)
    step = min(len(old["rows"]), len(new["rows"]))
    if len(old["rows"]) != len(new["rows"]):
        returns = _describe_returns(old, new, step)
        return replace(same, step=step, note="episodes end elsewhere", returns=returns)
    return same


def _find_end_of_episode(played: Mapping[str, Any], step: int) -> int:
    """Return the index of the row after the episode at a step; fixed actions are one episode."""
    begins = played.get("begins", ())
    number = bisect_right(begins, step)
    return begins[number] if number < len(begins) else len(played["rows"])


def _describe_returns(old: Mapping[str, Any], new: Mapping[str, Any], step: int) -> str:
    """Describe a policy's first differing episode, and its mean returns on both versions."""
    if "returns" not in old or "returns" not in new:
        return ""
    old_returns, new_returns = old["returns"], new["returns"]
    # the same seeds on both versions
    gaps = np.subtract(new_returns, old_returns)
    half = stdtrit(len(gaps) - 1, 0.975) * gaps.std(ddof=1) / len(gaps) ** 0.5
    low, high = gaps.mean() - half, gaps.mean() + half
    return (
        f"episode {bisect_right(old['begins'], step)} of {len(old_returns)}; mean returns "
        f"{fmean(old_returns):.4g} and {fmean(new_returns):.4g}, difference {low:+.3g} to "
        f"{high:+.3g}"
    )

"""Physics of both sides: what environments answer to the same seeds and actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlregress.model.upgrade_result import Moved
from rlregress.tracing.recording_processes import Side
from rlregress.upgrade import side_process

#: environments whose physics is compared where gymnasium or mujoco changes.
ENVIRONMENTS = (
    "CartPole-v1", "Pendulum-v1", "MountainCarContinuous-v0", "Acrobot-v1", "InvertedPendulum-v4",
    "InvertedDoublePendulum-v4", "Reacher-v4", "Swimmer-v4", "Hopper-v4", "HalfCheetah-v4",
    "Walker2d-v4", "Ant-v4", "InvertedPendulum-v5", "Hopper-v5", "HalfCheetah-v5", "Walker2d-v5",
    "Ant-v5", "Humanoid-v5",
)  # fmt: skip
PHYSICS_STEPS = 200


def compared(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Moved]:
    """What fixed actions led to on both sides."""
    return [_moved(id, a[id], b[id]) for id in a]


def played(side: Side, kept: Path, environments: Sequence[str] = ENVIRONMENTS) -> Any:
    """Play fixed actions on a side."""
    job = {"environments": list(environments), "steps": PHYSICS_STEPS}
    return side_process.run_module(side, "rlregress.inside.physics_worker", job, kept)


def _moved(id: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Moved:
    if "error" in a and "error" in b:
        return Moved(environment=id, step=None, note="on neither side")
    if "error" in a or "error" in b:
        side = "A" if "error" in a else "B"
        return Moved(
            environment=id, step=None, note=str((a if side == "A" else b)["error"]), missing=side
        )
    for step, (row, row_b) in enumerate(zip(a["rows"], b["rows"], strict=False)):
        if len(row) != len(row_b):
            shapes = f"{len(row) - 1} and {len(row_b) - 1} numbers"
            return Moved(environment=id, step=step, note=f"the observations have {shapes}")
        if row != row_b:
            rest = zip(a["rows"][step:], b["rows"][step:], strict=False)
            gaps = [max(abs(x - y) for x, y in zip(*rows, strict=True)) for rows in rest]
            return Moved(environment=id, step=step, at_first=gaps[0], largest=max(gaps))
    if len(a["rows"]) != len(b["rows"]):
        return Moved(
            environment=id, step=min(len(a["rows"]), len(b["rows"])), note="episodes end elsewhere"
        )
    return Moved(environment=id, step=None)

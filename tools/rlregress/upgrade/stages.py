"""Traces and physics of both sides, each in an environment of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing import run, trace
from rlregress.tracing.compare import Comparison, compare
from rlregress.tracing.run import Side
from rlregress.tracing.trace import Trace
from rlregress.upgrade import asking, environments

#: environments whose physics is compared where gymnasium or mujoco changes.
ENVIRONMENTS = (
    "CartPole-v1", "Pendulum-v1", "MountainCarContinuous-v0", "Acrobot-v1", "InvertedPendulum-v4",
    "InvertedDoublePendulum-v4", "Reacher-v4", "Swimmer-v4", "Hopper-v4", "HalfCheetah-v4",
    "Walker2d-v4", "Ant-v4", "InvertedPendulum-v5", "Hopper-v5", "HalfCheetah-v5", "Walker2d-v5",
    "Ant-v5", "Humanoid-v5",
)  # fmt: skip
PHYSICS_STEPS = 200


# -- traces --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Traced:
    """An algorithm on both sides.

    Attributes:
        repeats: the trace repeats itself to the bit; otherwise nothing is proved.
        failures: side label -> how its training ended in an error.
    """

    algorithm: str
    comparison: Comparison
    a: Trace
    b: Trace
    repeats: bool
    notes: tuple[str, ...]
    failures: Mapping[str, str]

    @property
    def proved(self) -> bool:
        """The two sides do the same, as far as this training goes."""
        return self.comparison.verdict != "diverged" and self.repeats and not self.failures

    @property
    def failed(self) -> list[str]:
        """In a sentence, what ended in an error, and on which side only."""
        if not self.failures:
            return []
        words = {s: asking.last_words(text) for s, text in self.failures.items()}
        if len(words) == 1:
            ((side, word),) = words.items()
            return [f"{self.algorithm}: the training ended in an error on side {side} only: {word}"]
        same = len(set(words.values())) == 1
        said = words["A"] if same else f"{words['A']} (A), {words['B']} (B)"
        return [f"{self.algorithm}: the training ended in an error on both sides: {said}"]


def recorded(adapter: Adapter, algorithm: str, side: Side, folder: Path, mark: str) -> Trace:
    """The trace that an interrupted gate has left in a folder, or a new one.

    Raises:
        UserError: the process ended without a trace.
    """
    path = folder / f"{adapter.full_name}-{algorithm}-{mark}.trace"
    if path.is_file():
        try:
            return trace.load(path)
        except UserError:
            path.unlink()
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    job = {"framework": adapter.full_name, "algorithm": algorithm, "seed": 0}
    found = run.record(job, part, side)
    os.replace(part, path)
    return found


def compared(algorithm: str, a: Trace, b: Trace, again: Callable[[], Trace]) -> Traced:
    """Side A's trace beside side B's, and beside its own repetition where they are not the same.

    Traces of two processes that are equal to the bit repeat each other: what is out of control in
    a training would have parted them.
    """
    found = compare(a, b)
    failures = {label: t.failure for label, t in (("A", a), ("B", b)) if t.failure}
    equal = found.verdict == "equal"
    repetition = b if equal else again()
    repeated = run.Repeated(a, found if equal else compare(a, repetition), repetition)
    notes = tuple(repeated.lines())
    return Traced(algorithm, found, a, b, repeated.repeats, notes, failures)


# -- physics -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moved:
    """An environment on both sides.

    Attributes:
        step: the first step at which the sides differ, from 0 for the reset; None: they do not.
        at_first, largest: largest absolute difference of an observation or a reward, at that step
            and from there on.
        note: why there is no comparison.
        missing: label of the side that does not have it, or that cannot make it.
    """

    environment: str
    step: int | None
    at_first: float = 0.0
    largest: float = 0.0
    note: str = ""
    missing: str = ""

    @property
    def moves(self) -> bool:
        """Whether the two sides differ."""
        return self.step is not None or bool(self.missing)


def physics(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Moved]:
    """What fixed actions led to on both sides."""
    return [_moved(id, a[id], b[id]) for id in a]


def played(side: Side, kept: Path, environments: Sequence[str] = ENVIRONMENTS) -> Any:
    """Play fixed actions on a side."""
    job = {"environments": list(environments), "steps": PHYSICS_STEPS}
    return asking.ask(side, "rlregress.tracing.physics", job, kept)


def _moved(id: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Moved:
    if "error" in a and "error" in b:
        return Moved(id, None, note="on neither side")
    if "error" in a or "error" in b:
        side = "A" if "error" in a else "B"
        return Moved(id, None, note=str((a if side == "A" else b)["error"]), missing=side)
    for step, (row, row_b) in enumerate(zip(a["rows"], b["rows"], strict=False)):
        if len(row) != len(row_b):
            shapes = f"{len(row) - 1} and {len(row_b) - 1} numbers"
            return Moved(id, step, note=f"the observations have {shapes}")
        if row != row_b:
            rest = zip(a["rows"][step:], b["rows"][step:], strict=False)
            gaps = [max(abs(x - y) for x, y in zip(*rows, strict=True)) for rows in rest]
            return Moved(id, step, gaps[0], max(gaps))
    if len(a["rows"]) != len(b["rows"]):
        return Moved(id, min(len(a["rows"]), len(b["rows"])), note="episodes end elsewhere")
    return Moved(id, None)


def python_of(side: Side) -> str:
    """The version of a side's interpreter."""
    if side.python == sys.executable:
        return ".".join(map(str, sys.version_info[:3]))
    return environments.distributions(side.python)["python"]

"""Which of the changed functions move a training: each is put back alone, to see what it does.

Side A's code of one function is put into side B, and a training that enters it is recorded again.
If the trace is another one than side B's, that function moves the training. If it is that of side
A, it is the only one that does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlregress.tracing.compare import Divergence, compare
from rlregress.tracing.processes import last_words
from rlregress.tracing.trace import Trace
from rlregress.upgrade.functions import CHANGED, Changed, Function
from rlregress.upgrade.traced import Traced, Training

#: functions that are put back in one training, the nearest to where its traces part first.
_NEAR = 6
#: trainings in which a function is put back.
_TURNS = 1
#: recordings in all.
_LIMIT = 60


@dataclass(frozen=True)
class Trial:
    """One function put back into side B, in one training."""

    function: Changed
    training: str


@dataclass(frozen=True)
class Cause:
    """What makes a training part.

    Attributes:
        place: changed functions where the traces part, or that called what stands there.
        alone: the function that makes side B do what side A does when it is put back.
        moving: functions that move the training when they are put back.
        still: functions that do not.
        failed: functions that cannot be put back alone, and why.
    """

    place: tuple[Changed, ...] = ()
    alone: Changed | None = None
    moving: tuple[Changed, ...] = ()
    still: tuple[Changed, ...] = ()
    failed: tuple[tuple[Changed, str], ...] = ()

    @property
    def functions(self) -> tuple[Changed, ...]:
        """The functions that are named, the surest first; none that was shown to do nothing."""
        alone = (self.alone,) if self.alone is not None else ()
        near = tuple(each for each in self.place if each not in self.still)
        return tuple(dict.fromkeys((*alone, *self.moving, *near)))


def at(first: Divergence | None, functions: Iterable[Changed]) -> tuple[Changed, ...]:
    """Changed functions where two traces part, the nearest first."""
    if first is None:
        return ()
    frames = []
    for event, side in ((first.b, "b"), (first.a, "a")):
        if event is not None and event.file:
            frames.append((side, event.file, event.line))
            frames += [(side, caller.file, caller.line) for caller in event.callers]
    known = list(functions)
    found = []
    for side, file, line in frames:
        inside = [f for f in known if f.file == file and _holds(getattr(f, side), line)]
        # the innermost one
        found += sorted(inside, key=lambda f: -getattr(f, side).first)[:1]
    return tuple(dict.fromkeys(found))


def _holds(function: Function | None, line: int) -> bool:
    return function is not None and function.first <= line <= function.last


def trials(parted: Sequence[Traced], functions: Sequence[Changed]) -> list[Trial]:
    """What to put back, and in which trainings.

    Of all trainings that part at the same place one is tried with the nearest functions; then every
    other function that a parted training enters has its turns.
    """
    found: list[Trial] = []
    turns: dict[Changed, int] = {}

    def add(function: Changed, training: str) -> None:
        trial = Trial(function, training)
        if function.how == CHANGED and not function.at_import and trial not in found:
            found.append(trial)
            turns[function] = turns.get(function, 0) + 1

    shortest = sorted(parted, key=lambda one: len(one.b.events))
    places: set[tuple[Changed, ...]] = set()
    for one in shortest:
        near = at(one.comparison.first, functions)
        if near in places and near:
            continue
        places.add(near)
        for function in [*near, *_entered(one, functions)][:_NEAR]:
            add(function, one.name)
    entered = {one.name: set(_entered(one, functions)) for one in shortest}
    for function in functions:
        for one in shortest:
            if turns.get(function, 0) < _TURNS and function in entered[one.name]:
                add(function, one.name)
    return found[:_LIMIT]


def _entered(one: Traced, functions: Iterable[Changed]) -> list[Changed]:
    names = {
        (file, name)
        for side in (one.a, one.b)
        for file, of_file in side.header.get("functions", {}).items()
        for name in of_file
    }
    return [function for function in functions if function.key in names]


def job(training: Training, trial: Trial, number: int) -> Training:
    """The training on side B with side A's code of one function."""
    path = trial.function.paths[0]
    assert path is not None
    change: Mapping[str, Any] = {
        "file": trial.function.file,
        "function": trial.function.name,
        "text": path.read_text(encoding="utf-8"),
    }
    name = f"{training.name} trial {number}"
    return Training(training.owner, name, {**training.job, "swap": change})


def causes(
    parted: Sequence[Traced], tried: Mapping[Trial, Trace], functions: Sequence[Changed]
) -> dict[str, Cause]:
    """Training -> what makes it part.

    Args:
        tried: what was put back, and the trace that came of it.
    """
    found = {}
    for one in parted:
        alone, moving, still, failed = None, [], [], []
        for trial, trace in tried.items():
            if trial.training != one.name:
                continue
            if trace.failure:
                failed.append((trial.function, last_words(trace.failure)))
            elif compare(one.a, trace).verdict == "equal":
                alone = trial.function
            elif compare(one.b, trace).verdict == "equal":
                still.append(trial.function)
            else:
                moving.append(trial.function)
        place = at(one.comparison.first, functions)
        found[one.name] = Cause(place, alone, tuple(moving), tuple(still), tuple(failed))
    return found

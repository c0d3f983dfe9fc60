"""Both sides asked the same, as many processes at once as there are workers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rlregress.tracing import processes
from rlregress.tracing.run import Side
from rlregress.tracing.trace import Trace
from rlregress.upgrade import making, traced
from rlregress.upgrade.traced import Traced, Training

#: marks of the two sides, as the files of their answers carry them.
_MARKS = ("a", "b")
Pair = tuple["Future[Any]", "Future[Any]"]


class Both:
    """Asks both sides; use it as a context manager.

    Args:
        folder: where answers and traces are kept until the gate has ended.
    """

    def __init__(self, a: Side, b: Side, folder: Path, workers: int, say: making.Say) -> None:
        self._sides = (a, b)
        self._folder = folder
        self._say = say
        self._pool = ThreadPoolExecutor(workers or 2)

    def __enter__(self) -> Both:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            processes.end()
        self._pool.shutdown(cancel_futures=True)

    def ask(self, name: str, question: Callable[..., Any], *arguments: Any) -> Pair:
        """Call ``question(side, path of its answer, *arguments)`` for either side."""
        a, b = (
            self._pool.submit(question, side, self._folder / f"{name}-{mark}.json", *arguments)
            for side, mark in zip(self._sides, _MARKS, strict=True)
        )
        return a, b

    def record(self, training: Training, again: bool = False) -> Pair:
        """Record a training on either side; the lines that it reaches only the first time."""
        a, b = (
            self._pool.submit(
                traced.recorded, training, side, self._folder, f"{mark}2" if again else mark,
                not again,
            )
            for side, mark in zip(self._sides, _MARKS, strict=True)
        )  # fmt: skip
        return a, b

    def compared(self, training: Training, tasks: Pair) -> Traced:
        """The traces of a training beside each other."""

        def again() -> tuple[Trace, Trace]:
            a, b = self.record(training, again=True)
            return a.result(), b.result()

        found = traced.compared(training.name, tasks[0].result(), tasks[1].result(), again)
        self._say(f"{training.owner} {training.name}: {found.word}")
        return found

"""Traces of both sides, each recorded in an environment of its own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing import run, trace
from rlregress.tracing.compare import Comparison, compare
from rlregress.tracing.processes import last_words
from rlregress.tracing.run import Side
from rlregress.tracing.trace import Trace
from rlregress.upgrade import concerned, coverage
from rlregress.upgrade.wanted import Wanted


@dataclass(frozen=True)
class Training:
    """What is traced on both sides: a built-in training, or a script.

    Attributes:
        owner: full name of the framework, or "script".
        name: of the algorithm, or of the script's file.
        job: for the recorder; see ``tracing.record``.
    """

    owner: str
    name: str
    job: Mapping[str, Any]

    @property
    def key(self) -> str:
        """What decides what the training does beside the sides: its code, if it is a script."""
        script = self.job.get("script")
        files = sorted(Path(script).parent.glob("*.py")) if script else []
        digest = hashlib.sha256(repr(sorted(self.job.items())).encode())
        for path in files:
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()


def built_in(adapter: Adapter, algorithm: str) -> Training:
    """A built-in training of a framework."""
    job = {"framework": adapter.full_name, "algorithm": algorithm, "seed": 0}
    return Training(adapter.full_name, algorithm, job)


def script_training(job: Mapping[str, Any], a: Wanted, b: Wanted) -> Training:
    """A script, with the packages that differ between two sides among what is traced of it."""
    return Training("script", Path(job["script"]).name, {**job, **concerned.traced(a, b)})


@dataclass(frozen=True)
class Traced:
    """A training on both sides.

    Attributes:
        name: of the training.
        repeats: the traces repeat themselves to the bit; otherwise nothing is proved.
        notes: what the tracer seeded, and what is out of control.
        failures: side label -> how its training ended in an error.
    """

    name: str
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
    def word(self) -> str:
        """The verdict of the comparison, or that there can be none."""
        if self.failures:
            return "ended in an error"
        verdict = self.comparison.verdict
        return verdict if self.repeats else f"{verdict}, but does not repeat itself"

    @property
    def reached(self) -> coverage.Reached:
        """What the training reached on either side."""
        return coverage.reached(self.a, self.b)

    @property
    def failed(self) -> list[str]:
        """In a sentence, what ended in an error, and on which side only."""
        if not self.failures:
            return []
        words = {s: last_words(text) for s, text in self.failures.items()}
        if len(words) == 1:
            ((side, word),) = words.items()
            return [f"{self.name}: the training ended in an error on side {side} only: {word}"]
        same = len(set(words.values())) == 1
        said = words["A"] if same else f"{words['A']} (A), {words['B']} (B)"
        return [f"{self.name}: the training ended in an error on both sides: {said}"]


def recorded(training: Training, side: Side, folder: Path, mark: str, lines: bool = False) -> Trace:
    """The trace that an interrupted gate has left in a folder, or a new one.

    Args:
        lines: whether to note the lines that are reached.

    Raises:
        UserError: the process ended without a trace.
    """
    path = folder / f"{training.owner}-{training.name}-{mark}.trace"
    if path.is_file():
        try:
            return trace.load(path)
        except UserError:
            path.unlink()
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    found = run.record({**training.job, "lines": lines}, part, side)
    os.replace(part, path)
    return found


def compared(name: str, a: Trace, b: Trace, again: Callable[[], tuple[Trace, Trace]]) -> Traced:
    """Side A's trace beside side B's, and both beside their own repetitions where they differ.

    Traces of two processes that are equal to the bit repeat each other: what is out of control in
    a training would have parted them.

    Args:
        again: record both sides once more.

    Raises:
        UserError: nothing was trained, or nothing of what differs was run.
    """
    for label, side in (("A", a), ("B", b)):
        run.check_trained(side, label)
    found = compare(a, b)
    failures = {label: t.failure for label, t in (("A", a), ("B", b)) if t.failure}
    if not failures:
        _check_imports(a, b)
    seeded = _seeded(a, b)
    if found.verdict == "equal" or failures:
        return Traced(name, found, a, b, True, tuple(seeded), failures)
    repeats, notes = True, list(seeded)
    for label, first, repetition in zip("AB", (a, b), again(), strict=True):
        repeated = run.Repeated(first, compare(first, repetition), repetition)
        repeats = repeats and repeated.repeats
        notes += [f"side {label}: {line}" for line in repeated.uncontrolled()]
    return Traced(name, found, a, b, repeats, tuple(notes), failures)


def _seeded(a: Trace, b: Trace) -> list[str]:
    """In words, what the tracer seeded on either side."""
    one, other = run.seeded_lines(a), run.seeded_lines(b)
    if one == other:
        return one
    lines = [(label, line) for label, lines in (("A", one), ("B", other)) for line in lines]
    return [f"side {label}: {line}" for label, line in lines]


def _check_imports(a: Trace, b: Trace) -> None:
    """Raise UserError if what differs between the sides was not run."""
    found = {label: side.header.get("modules", {}) for label, side in (("A", a), ("B", b))}
    for label, modules in found.items():
        if modules and not any(modules.values()):
            raise UserError(
                f"the script imported nothing of what differs on side {label} "
                f"({', '.join(sorted(modules))}); expected a script that uses it"
            )
    for name in sorted(set(found["A"]) & set(found["B"])):
        file = found["A"][name]
        if file and file == found["B"][name]:
            raise UserError(
                f"both sides imported '{name}' from {file}, so that nothing differed; expected "
                "each to find its own: move the script out of that folder, or take it off the path"
            )

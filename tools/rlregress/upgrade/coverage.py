"""What equal traces cover: of every function whose code differs, how the trainings went through it.

A line that was run is not a line that was tried: a branch taken one way only, a clamp that never
binds and a mask that is all ones say nothing about the other way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from types import MappingProxyType
from typing import Any

from rlregress.tracing.lines import WAYS
from rlregress.tracing.trace import Trace
from rlregress.upgrade.functions import REMOVED, Changed
from rlregress.upgrade.traced import Traced

DIVERGED = "diverged"
BOTH_WAYS, ONE_WAY = "traced and equal, every branch both ways", "traced and equal, one way"
PROBED, UNREACHED = "probed only", "never reached"
#: the order in which a reader wants them.
STATES = (UNREACHED, PROBED, DIVERGED, ONE_WAY, BOTH_WAYS)


@dataclass(frozen=True)
class Branch:
    """A place that was passed one way only.

    Attributes:
        said: in words, what stands there and what never happened.
    """

    file: str
    line: int
    function: str
    said: str


@dataclass(frozen=True)
class Reach:
    """How the trainings went through one function that differs.

    Attributes:
        trainings: names of those that have entered it.
        diverged: those of them whose traces part.
        details: "<id> [<scope>]" of the probes that have entered it.
        one_way: what in it was passed one way only.
        hints: in words, what would reach it.
        algorithms: those that use its class or its file.
    """

    function: Changed
    trainings: tuple[str, ...] = ()
    diverged: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    one_way: tuple[Branch, ...] = ()
    hints: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """One of ``STATES``."""
        if self.diverged:
            return DIVERGED
        if self.trainings:
            return ONE_WAY if self.one_way else BOTH_WAYS
        return PROBED if self.details else UNREACHED


class Reached:
    """What the trainings of one side have reached, all together."""

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self._entered: dict[tuple[str, str], list[str]] = {}
        self._files: dict[str, list[str]] = {}
        self._ways: dict[tuple[str, int], tuple[bool, bool, str]] = {}
        self._seen: dict[tuple[str, int, str, str], set[str]] = {}
        for name, trace in traces.items():
            self._add(name, trace.header)

    def note(self, name: str, entered: Mapping[str, Sequence[str]]) -> None:
        """A training that has entered functions, by file."""
        for file, functions in entered.items():
            self._files.setdefault(file, []).append(name)
            for function in functions:
                self._entered.setdefault((file, function), []).append(name)

    def _add(self, name: str, header: Mapping[str, Any]) -> None:
        self.note(name, header.get("functions", {}))
        for file, tests in header.get("branches", {}).items():
            for line, held, failed, text in tests:
                known = self._ways.get((file, line), (False, False, text))
                self._ways[file, line] = (held or known[0], failed or known[1], text)
        for file, line, function, operation, seen in header.get("activity", ()):
            self._seen.setdefault((file, line, function, operation), set()).update(seen)

    def trainings(self, function: Changed) -> list[str]:
        """Names of the trainings that have entered a function."""
        if function.at_import:
            # what runs at import has run if anything of the file has
            return self._files.get(function.file, [])
        return self._entered.get(function.key, [])

    def around(self, function: Changed) -> set[str]:
        """Names of the trainings that use its class, or its file if it has none."""
        kind = function.name.rpartition(".")[0]
        users: set[str] = set()
        for (file, name), trainings in self._entered.items():
            if file == function.file and (not kind or name.startswith(f"{kind}.")):
                users.update(trainings)
        return users

    def one_way(self) -> list[Branch]:
        """Branches, clamps and masks that went one way only."""
        branches = []
        for (file, line), (held, failed, text) in self._ways.items():
            if not (held and failed):
                never = "true" if not held else "false"
                branches.append(Branch(file, line, "", f"`{text}` was never {never}"))
        for (file, line, function, operation), seen in self._seen.items():
            never_ways = [way for way in WAYS[operation] if way not in seen]
            if never_ways:
                said = f"{operation}: never {' and never '.join(never_ways)}"
                branches.append(Branch(file, line, function, said))
        return sorted(branches, key=lambda branch: (branch.file, branch.line, branch.said))


def reach(
    functions: Iterable[Changed],
    traced: Sequence[Traced],
    probed: Mapping[tuple[str, str], Sequence[str]],
    folders: Sequence[str],
    same_code: Mapping[str, Mapping[str, Sequence[str]]] = MappingProxyType({}),
) -> list[Reach]:
    """How both sides' trainings and probes went through the functions that differ.

    Args:
        probed: file and function -> details whose probes have entered it, on both sides.
        folders: of side B's code, to look for what calls a function.
        same_code: name -> file -> functions entered, of trainings that were not traced.
    """
    from rlregress.upgrade.callers import callers

    sides = {
        "A": Reached({t.name: t.a for t in traced}),
        "B": Reached({t.name: t.b for t in traced}),
    }
    for name, entered in same_code.items():
        sides["B"].note(name, entered)
    parted = {t.name for t in traced if not t.proved}
    branches = {label: side.one_way() for label, side in sides.items()}
    reached = []
    for function in functions:
        label = "A" if function.how == REMOVED else "B"
        side, own = sides[label], function.a if function.how == REMOVED else function.b
        trainings = tuple(side.trainings(function))
        one_way = tuple(
            branch
            for branch in branches[label]
            if own is not None
            and branch.file == function.file
            and own.first <= branch.line <= own.last
            and not function.at_import
        )
        details = tuple(probed.get(function.key, ()))
        around = sides["A"].around(function) | sides["B"].around(function)
        algorithms = {name.partition(" ")[0] for name in around}
        hints = () if trainings or function.how == REMOVED else tuple(callers(function, folders))
        reached.append(
            Reach(
                function,
                trainings,
                tuple(name for name in trainings if name in parted),
                details,
                one_way,
                hints,
                tuple(sorted(algorithms)),
            )
        )
    return sorted(reached, key=lambda each: (STATES.index(each.state), each.function.key))


def of_the_algorithms(
    functions: Iterable[Changed], periphery: Sequence[str]
) -> tuple[list[Changed], list[Changed]]:
    """Functions that may change a training, and those that an adapter says may not."""
    within: list[Changed] = []
    without: list[Changed] = []
    for function in functions:
        name = f"{function.file} {function.name}"
        (without if beside(name, periphery) else within).append(function)
    return within, without


def beside(name: str, periphery: Sequence[str]) -> bool:
    """Whether none of the suite's algorithms uses "<file> <function>", as an adapter says."""
    return any(fnmatch(name, each) for each in periphery)


def share(traced: Trace) -> float | None:
    """Share of the executable lines that a training has reached; None if they were not noted."""
    rows = list(traced.header["lines"].values())
    executable = sum(len(every) for _, every in rows)
    return sum(len(hit) for hit, _ in rows) / executable if executable else None


def missed(traced: Sequence[Traced]) -> dict[str, list[int]]:
    """Side B's files -> lines that no training has reached, of the functions that any enters."""
    every: dict[str, set[int]] = {}
    hit: dict[str, set[int]] = {}
    for one in traced:
        for file, (reached, executable) in one.b.header["lines"].items():
            every.setdefault(file, set()).update(executable)
            hit.setdefault(file, set()).update(reached)
    left = {file: sorted(lines - hit[file]) for file, lines in sorted(every.items())}
    return {file: lines for file, lines in left.items() if lines}


def ranges(lines: Iterable[int]) -> str:
    """Line numbers as ranges."""
    spans: list[list[int]] = []
    for line in sorted(lines):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)

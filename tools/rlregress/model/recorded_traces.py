"""Recorded traces, and what two of them say of each other."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: labels of the two versions; a line about one of them begins with its label.
VERSIONS = ("old", "new")
#: the part of an event of a file that is not compared: why.
LOST = "not compared"


def in_words(labels: str) -> str:
    """Return "the old version" of the label "old"; of "old and new", both versions."""
    return f"the {labels} version" if labels in (*VERSIONS, "installed") else "both versions"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A recorded value: equal digests are equal types and bits; the rest explains a difference.

    Attributes:
        norm: of all numbers; None if they are none.
        values: the first ones.
        shadow: two random projections of all of them; empty where ``values`` are all of them.
        text: of a part that is words.
        types: names, Python types, dtypes, shapes, devices and layouts; see ``events.types_of``.
    """

    digest: str
    norm: float | None
    values: tuple[float, ...]
    shadow: tuple[float, ...] = ()
    text: str = ""
    types: str = ""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A frame of the traced code."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event.

    Attributes:
        kind: "reset", "step", "output" (what a vector environment, a normaliser or a collector
            hands out), "draw", "data", "parameters", "loss" (what a loss module returns),
            "backward", "optimizer", "write", "log" (a value that is logged),
            "module" (what one that is no loss returns), "final", of the networks as the training
            leaves them, "file" (one that was written) or "printed" (on a stream).
        name: which one of its kind.
        file, line, function: the nearest frame of the traced code; empty and 0 if there was none.
        parts: in the order in which one follows from the other.
        callers: frames of the traced code above that one, the nearest first.
        error: the error that a framework answers with, in words; empty: it answers otherwise.
        named: what it consists of, by the part and the name of a parameter or an entry; of the
            event alone in which two traces first differ.
    """

    index: int
    kind: str
    name: str
    file: str
    line: int
    function: str
    parts: Mapping[str, Part]
    callers: tuple[Place, ...] = ()
    error: str = ""
    named: Mapping[str, Part] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """The part of an event that is compared: neither its place, which moves, nor its values."""
        # by its number: a class of another name may do the same
        numbered = self.kind in ("optimizer", "loss", "module")
        name = self.name.rpartition(" ")[2] if numbered else self.name
        return self.kind, name

    @property
    def is_answer(self) -> bool:
        """Return whether the training itself shows it, outside of the traced code."""
        return self.kind == "output" and not self.file

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}" if self.file else "outside of the traced code"

    @property
    def digests(self) -> tuple[str, ...]:
        return tuple(part.digest for part in self.parts.values())


def in_places(error: str, at: str, by: str) -> str:
    """An error with its places.

    Args:
        at: "file:line function" of the innermost frame of the library.
        by: the same of the script, or of the suite's training, that called it.
    """
    caller = f", called by {by}" if by and by != at else ""
    return f"{error} at {at or 'an unknown place'}{caller}"


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Everything that was recorded of one run.

    Attributes:
        header: versions, what was seeded, failure, times.
    """

    header: Mapping[str, Any]
    events: tuple[Event, ...]

    @property
    def failure(self) -> str:
        """The end of the traceback of a run that ended in an error; empty otherwise."""
        return str(self.header["failure"])

    @property
    def error(self) -> Mapping[str, str]:
        """Type, origin and places of the error that ended it; see ``error_origin.found``."""
        return dict(self.header.get("error") or {})

    @property
    def unsteady(self) -> frozenset[tuple[str, str, int, str]]:
        """Parts of written output that differed when the training was recorded again.

        Kind and name of the event, which one of that name, and its part; empty: all of it.
        """
        return frozenset((k, n, i, p) for k, n, i, p in self.header.get("unsteady", ()))

    @property
    def ending(self) -> str:
        """The error that ended it, with its place in the library and in the script, in words."""
        error = self.error
        if not error.get("error"):
            return self.failure.strip().rpartition("\n")[2]
        return in_places(error["error"], error.get("at", ""), error.get("by", ""))

    @property
    def has_begun(self) -> bool:
        return bool(self.count("step") or self.count("optimizer"))

    @property
    def elsewhere(self) -> list[Mapping[str, Any]]:
        """Threads and processes that the training started; see ``other_threads.Elsewhere``."""
        return list(self.header.get("elsewhere", []))

    @property
    def is_generated(self) -> bool:
        """Return whether its answers come from calls generated from the version's signatures."""
        return bool(self.header.get("generated"))

    def count(self, kind: str) -> int:
        """How many events of a kind there are."""
        return sum(event.kind == kind for event in self.events)


#: a number in a text, with the blanks that fill a column.
_NUMBER = re.compile(r"\s*(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)\s*")


def _words_of(part: Part) -> str:
    return _NUMBER.sub("#", part.text)


def difference(old: Part, new: Part) -> float:
    """Relative size of the difference, from the numbers that were kept; infinite if they say none,
    and of other types, which are no rounding.

    The gap of norms, first values and projections, over the norm: an estimate of the norm of the
    difference over the norm.
    """
    if old.digest == new.digest:
        return 0.0
    pairs = [*zip(old.values, new.values, strict=False), *zip(old.shadow, new.shadow, strict=False)]
    if old.norm is None or new.norm is None or not pairs or old.types != new.types:
        return math.inf
    if len(old.values) != len(new.values) or len(old.shadow) != len(new.shadow):
        return math.inf
    pairs.append((old.norm, new.norm))
    if old.text and (_words_of(old) != _words_of(new) or all(x == y for x, y in pairs)):
        # other words around the numbers, or the same number in another notation
        return math.inf
    # a number that is none on one side is no rounding
    if not all(math.isfinite(number) for pair in pairs for number in pair):
        return math.inf
    gap, scale = max(abs(x - y) for x, y in pairs), max(old.norm, new.norm)
    # another digest of the same numbers: digits that are not kept
    return gap / scale if scale else 0.0


def describe_other_types(old: str, new: str) -> str:
    """Describe the first types and names that differ; empty if they are the same.

    Args:
        old, new: of ``events.types_of``.
    """
    if old == new:
        return ""
    old_items, new_items = (
        [_split_type(item) for item in types.split("; ")] for types in (old, new)
    )
    names, new_names = ([name for name, _ in items] for items in (old_items, new_items))
    type_by_name = dict(new_items)
    # values of one line, such as the fields of a minibatch, have no names
    after = (
        [old_type for _, old_type in new_items]
        if names == new_names
        else [type_by_name.get(*row) for row in old_items]
    )
    for (name, old_type), new_type in zip(old_items, after, strict=True):
        if old_type != new_type:
            where = f"{name}: " if name else ""
            return f"{where}{new_type} where the old version has {old_type}"
    only = [[n for n in mine if n not in theirs] or [f"{len(mine)} values"]
            for mine, theirs in ((new_names, names), (names, new_names))]  # fmt: skip
    return f"{_OTHER_NAMES}{', '.join(only[0])} where the old version has {', '.join(only[1])}"


#: how the words on names begin that only one version has.
_OTHER_NAMES = "other names: "


def _split_type(item: str) -> tuple[str, str]:
    name, colon, type_name = item.rpartition(": ")
    return (name, type_name) if colon else ("", item)


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """The first event that differs.

    Attributes:
        kind: initialisation, exploration, environment, sampling, data, computation (a module
            returns other values), loss, gradient, schedule, optimiser, parameters, target update,
            order (other events happen), interface (other names, types or shapes), module, logs,
            files or printed (the training is the same; what a module returns, what is logged,
            written or printed is not).
        part: of the event, which value differs; empty for order.
        old, new: the event on either version; None where the trace has ended.
        before: the events just before it, the same on both sides.
    """

    kind: str
    part: str
    old: Event | None
    new: Event | None
    before: tuple[Event, ...]

    @property
    def entries(self) -> list[str]:
        """Names of the differing entries of the part, if both events have names."""
        if self.old is None or self.new is None:
            return []
        old_entries, new_entries = self.old.named, self.new.named
        names = [
            name.removeprefix(self.part).strip()
            for name in ({**old_entries, **new_entries} if old_entries and new_entries else ())
            if name.startswith(f"{self.part} ")
            and _digest(old_entries, name) != _digest(new_entries, name)
        ]
        # what is no mapping, and not made of parts, has one entry without a name
        return [name for name in names if name]

    @property
    def gap(self) -> float:
        """Relative size of the difference; infinite for other events and other types."""
        if self.old is None or self.new is None or not self.part:
            return math.inf
        old_part, new_part = self.old.parts.get(self.part), self.new.parts.get(self.part)
        return math.inf if old_part is None or new_part is None else difference(old_part, new_part)

    @property
    def types(self) -> str:
        """In words, which types differ; empty: none, or other events."""
        if self.old is None or self.new is None:
            return ""
        if self.part not in self.old.parts or self.part not in self.new.parts:
            return ""
        return describe_other_types(
            self.old.parts[self.part].types, self.new.parts[self.part].types
        )

    @property
    def retypes(self) -> bool:
        """Return whether a value of the same name has another type."""
        return bool(self.types) and not self.types.startswith(_OTHER_NAMES)

    @property
    def ratio(self) -> float | None:
        """New over old of the first values, or of the norms, where that is a number."""
        if self.old is None or self.new is None or not self.part or self.types:
            return None
        return _ratio(self.old.parts.get(self.part), self.new.parts.get(self.part))


def _digest(named: Mapping[str, Part], name: str) -> str:
    return named[name].digest if name in named else ""


def _ratio(old: Part | None, new: Part | None) -> float | None:
    if old is None or new is None or old.text:
        return None
    old_value, new_value = (p.values[0] if len(p.values) == 1 else p.norm for p in (old, new))
    if (
        old_value is None
        or new_value is None
        or old_value == 0.0
        or not math.isfinite(old_value + new_value)
    ):
        return None
    return new_value / old_value


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How far the values of one loss are apart after the first difference.

    Attributes:
        first: the first backward pass of this loss there, on the old version.
        optimizer: the number of the optimiser that steps next; empty if none does.
        gaps: relative differences, one after the other.
    """

    first: Event
    optimizer: str
    gaps: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The result of comparing two traces.

    Attributes:
        verdict: "equal", "close" or "diverged".
        compared: events that were compared.
        first: where they part; None if they are equal. In numbers or order, if they ever do.
        growth: of each loss, after the first difference.
        extra: events that only one side has, skipped where both go on alike.
        equal: events that were the same to the bit before the first difference.
        rounding: where arithmetic had parted by a rounding before ``first``, if it had.
        interface: where names, types or shapes differ first, if they do.
        numbers: where numbers or order diverge after ``first``, which is another type.
        not_compared: last events of "close" traces: rounding alone may make them others.
    """

    verdict: str
    compared: int
    first: Divergence | None = None
    growth: tuple[Growth, ...] = ()
    extra: tuple[tuple[str, Event], ...] = field(default=())
    equal: int = 0
    rounding: Divergence | None = None
    interface: Divergence | None = None
    numbers: Divergence | None = None
    not_compared: int = 0

    @property
    def in_logs_only(self) -> bool:
        """Return whether the training is the same and only its logs differ."""
        return self._is_of(("logs",))

    @property
    def trains_the_same(self) -> bool:
        """Return whether the training is the same and only logs, written files or printed
        text differ.
        """
        return self._is_of(("logs", "files", "printed"))

    def _is_of(self, kinds: Sequence[str]) -> bool:
        return self.verdict == "diverged" and self.first is not None and self.first.kind in kinds


@dataclass(frozen=True, kw_only=True)
class Crash:
    """An error by which the code under test ends a training on one side only.

    Attributes:
        side: "old" or "new".
        error: type and message, in one line.
        at: "file:line function" of the innermost frame of the framework.
        by: the same of the script, or of the suite's training, that called it.
        executed: what was recorded up to the error; None where a signal ended the process.
    """

    side: str
    error: str
    at: str
    by: str
    executed: Trace | None

    def __str__(self) -> str:
        return in_places(self.error, self.at, self.by)


@dataclass(frozen=True, kw_only=True)
class NotTraced:
    """A training that could not be held against the other side.

    Attributes:
        sides: label -> why there is no trace of it.
        supported: label -> whether the framework has there what the training is about. What no side
            offers is no gap; what one side alone offers is new, or gone.
        crash: the code under test fails on one side before it has trained; None: it does not.
    """

    name: str
    sides: Mapping[str, str]
    supported: Mapping[str, bool]
    crash: Crash | None = None

    @property
    def counts(self) -> bool:
        """Return whether it is a gap: both versions have it."""
        return all(self.supported.values())

    def __str__(self) -> str:
        text = "; ".join(dict.fromkeys(self.sides.values()))
        return f"{self.name}, on {in_words(' and '.join(self.sides))}: {text}"


@dataclass(frozen=True, kw_only=True)
class Traced:
    """A training on both sides.

    Attributes:
        name: of the training.
        repeats: the traces repeat themselves to the bit; otherwise nothing is proved.
        notes: what the tracer seeded, and what is out of control.
        crash: the code under test fails on one side amid the training; None: it does not.
    """

    name: str
    comparison: Comparison
    old: Trace
    new: Trace
    repeats: bool
    notes: tuple[str, ...]
    crash: Crash | None = None

    @property
    def algorithm(self) -> str:
        """The algorithm that was trained; of a script, its file."""
        return self.name.partition(" ")[0]

    @property
    def plain(self) -> bool:
        """Return whether it is the training of the algorithm without a scenario."""
        return self.name == self.algorithm

    @property
    def uncompared(self) -> tuple[str, ...]:
        """Written output that could not be compared, with reasons."""
        return tuple(
            dict.fromkeys(
                f"{event.name}: {event.parts[LOST].text}"
                for side in (self.old, self.new)
                for event in side.events
                if LOST in event.parts
            )
        )

    @property
    def proved(self) -> bool:
        """The two sides do the same, as far as this training goes."""
        comparison = self.comparison
        return comparison.verdict != "diverged" and not comparison.not_compared and self.repeats

    @property
    def word(self) -> str:
        """The verdict of the comparison, or that there can be none."""
        verdict = (
            "differs in logs only" if self.comparison.in_logs_only else self.comparison.verdict
        )
        if self.comparison.not_compared:
            verdict = f"{verdict} as far as compared"
        return verdict if self.repeats else f"{verdict}, but does not repeat itself"


def share(traced: Trace) -> float | None:
    """Share of the executable lines that a training has reached; None if they were not noted."""
    rows = list(traced.header["lines"].values())
    executable = sum(len(lines_of_file) for _, lines_of_file in rows)
    return sum(len(hit) for hit, _ in rows) / executable if executable else None


def missed(traced: Sequence[Traced]) -> dict[str, list[int]]:
    """The new version's files -> lines that no training executed, of the functions that ran."""
    executable_lines: dict[str, set[int]] = {}
    hit: dict[str, set[int]] = {}
    for training in traced:
        for file, (executed, executable) in training.new.header["lines"].items():
            executable_lines.setdefault(file, set()).update(executable)
            hit.setdefault(file, set()).update(executed)
    missed_lines = {
        file: sorted(lines - hit[file]) for file, lines in sorted(executable_lines.items())
    }
    return {file: lines for file, lines in missed_lines.items() if lines}


def ranges(lines: Iterable[int]) -> str:
    """Line numbers as ranges."""
    spans: list[list[int]] = []
    for line in sorted(lines):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)

"""Recorded traces, and the differences between two of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: labels of the two versions; a line about one of them begins with its label
VERSIONS = ("old", "new")
#: name of the part of an event that holds the reason why a file is not compared
LOST = "not compared"


def describe_version_label(label: str) -> str:
    """Return a version label in words: "old" as "the old version"; "old and new" as both."""
    return f"the {label} version" if label in (*VERSIONS, "installed") else "both versions"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A recorded value.

    Values with equal digests have equal types and bits. The other attributes describe a difference.

    Attributes:
        norm: norm of all numbers; None if it has no numbers.
        values: the first numbers.
        shadow: two random projections of all numbers; empty if ``values`` holds all.
        text: text of a part that is not numeric.
        types: names, Python types, dtypes, shapes, devices and layouts; see
            ``events.describe_types``.
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
    """One event of a trace.

    Attributes:
        kind: "reset", "step", "output" (of a vector environment, normaliser or collector), "draw",
            "data", "parameters", "loss" (output of a loss module), "backward", "optimizer",
            "write", "log" (a logged value), "module" (output of another module), "final" (the
            networks after the training), "file" (a written file) or "printed" (on a stream).
        name: name or number within its kind.
        file, line, function: the nearest frame of the traced code; empty and 0 if there was none.
        parts: its values, in the order in which they depend on each other.
        callers: frames of the traced code above that one, the nearest first.
        error: error of the framework, in words; empty: it raised none.
        named: part and name of a parameter or entry -> its value; only for the event in which two
            traces first differ.
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
        """Kind and name, by which events of two traces are matched."""
        # by its number, because a class of another name may do the same
        numbered = self.kind in ("optimizer", "loss", "module")
        name = self.name.rpartition(" ")[2] if numbered else self.name
        return self.kind, name

    @property
    def is_result(self) -> bool:
        """Return whether the event is a result that a training returns."""
        return self.kind == "output" and not self.file

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}" if self.file else "outside of the traced code"

    @property
    def digests(self) -> tuple[str, ...]:
        return tuple(part.digest for part in self.parts.values())


def add_places_to_error(error: str, library_frame: str, caller_frame: str) -> str:
    """Return an error with its places.

    Args:
        library_frame: "file:line function" of the innermost frame of the library.
        caller_frame: the frame of the script, or of the suite's training, that called it.
    """
    caller = f", called by {caller_frame}" if caller_frame and caller_frame != library_frame else ""
    return f"{error} at {library_frame or 'an unknown place'}{caller}"


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The recording of one training.

    Attributes:
        header: versions, seeded generators, failure, times.
    """

    header: Mapping[str, Any]
    events: tuple[Event, ...]

    @property
    def failure(self) -> str:
        """The end of the traceback of a run that ended in an error; empty otherwise."""
        return str(self.header["failure"])

    @property
    def error(self) -> Mapping[str, str]:
        """Type, origin and places of the error that ended it; see ``inside.error_origin``."""
        return dict(self.header.get("error") or {})

    @property
    def unrepeatable_output(self) -> frozenset[tuple[str, str, int, str]]:
        """Parts of written output that differed when the training was recorded again.

        Kind, name and number of the event, and its part; an empty part stands for all.
        """
        return frozenset((k, n, i, p) for k, n, i, p in self.header.get("unsteady", ()))

    @property
    def error_text(self) -> str:
        """Description of the error that ended the training, with places in library and script."""
        error = self.error
        if not error.get("error"):
            return self.failure.strip().rpartition("\n")[2]
        return add_places_to_error(error["error"], error.get("at", ""), error.get("by", ""))

    @property
    def called_functions(self) -> list[tuple[str, str]]:
        """File and qualified name of each function of the traced code that was called."""
        by_file = self.header.get("functions", {})
        return [(file, name) for file, names in by_file.items() for name in names]

    @property
    def has_begun(self) -> bool:
        return bool(self.count_events_of_kind("step") or self.count_events_of_kind("optimizer"))

    @property
    def other_activity(self) -> list[Mapping[str, Any]]:
        """Threads and processes that the training started; see ``other_threads.OtherActivity``."""
        return list(self.header.get("elsewhere", []))

    @property
    def is_generated(self) -> bool:
        """Return whether the training consists of calls generated from a version's signatures."""
        return bool(self.header.get("generated"))

    def count_events_of_kind(self, kind: str) -> int:
        return sum(event.kind == kind for event in self.events)


#: a number in a text, with the blanks that fill a column
_NUMBER = re.compile(r"\s*(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)\s*")


def _mask_numbers_of_text(part: Part) -> str:
    return _NUMBER.sub("#", part.text)


#: types with numbers that are rounded; of many types some are left out.
_ROUNDED = re.compile(r"float|complex|\.\.\.")


def estimate_relative_difference(old: Part, new: Part) -> float:
    """Estimate the norm of the difference of two values over their norm, from recorded numbers.

    It is the largest difference of norms, first values and projections, over the larger norm. It is
    infinite for other types, and if numbers cannot explain the difference.
    """
    if old.digest == new.digest:
        return 0.0
    pairs = [*zip(old.values, new.values, strict=False), *zip(old.shadow, new.shadow, strict=False)]
    if old.norm is None or new.norm is None or not pairs or old.types != new.types:
        return math.inf
    if len(old.values) != len(new.values) or len(old.shadow) != len(new.shadow):
        return math.inf
    if old.types and not _ROUNDED.search(old.types):
        # another whole number is no rounding, however large it is
        return math.inf
    pairs.append((old.norm, new.norm))
    if old.text and (
        _mask_numbers_of_text(old) != _mask_numbers_of_text(new) or all(x == y for x, y in pairs)
    ):
        # different words around the numbers, or the same number in another notation
        return math.inf
    # NaN or infinity in one version is not a rounding difference
    if not all(math.isfinite(number) for pair in pairs for number in pair):
        return math.inf
    gap, scale = max(abs(x - y) for x, y in pairs), max(old.norm, new.norm)
    # equal numbers with different digests differ in digits that are not recorded
    return gap / scale if scale else 0.0


def describe_first_differing_types(old: str, new: str) -> str:
    """Describe the first types and names that differ; empty if they are the same.

    Args:
        old, new: results of ``events.describe_types``.
    """
    if old == new:
        return ""
    old_items, new_items = (
        [_split_name_and_type(item) for item in types.split("; ")] for types in (old, new)
    )
    names, new_names = ([name for name, _ in items] for items in (old_items, new_items))
    type_by_name = dict(new_items)
    # with the same names, values are compared in order: fields of a minibatch have no names
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


#: begin of the words on names that only one version has
_OTHER_NAMES = "other names: "


def _split_name_and_type(entry: str) -> tuple[str, str]:
    name, colon, type_name = entry.rpartition(": ")
    return (name, type_name) if colon else ("", entry)


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """The first event that differs.

    Attributes:
        kind: initialisation, exploration, environment, sampling, data, computation (a module
            returns other values), loss, gradient, schedule, optimiser, parameters, target update,
            order (other events happen), interface (other names, types or shapes), module, logs,
            files or printed (the training is the same; what a module returns, what is logged,
            written or printed is not).
        part: name of the event's part that differs; empty for order.
        old, new: the event in the old and the new version; None: that trace has ended.
        before: the events just before it, the same on both versions.
    """

    kind: str
    part: str
    old: Event | None
    new: Event | None
    before: tuple[Event, ...]

    @property
    def differing_entries(self) -> list[str]:
        """Names of the differing entries of the part, if both events have names."""
        if self.old is None or self.new is None:
            return []
        old_entries, new_entries = self.old.named, self.new.named
        names = [
            name.removeprefix(self.part).strip()
            for name in ({**old_entries, **new_entries} if old_entries and new_entries else ())
            if name.startswith(f"{self.part} ")
            and _get_digest_of_entry(old_entries, name) != _get_digest_of_entry(new_entries, name)
        ]
        # a value without entries is stored as one entry without a name
        return [name for name in names if name]

    @property
    def relative_difference(self) -> float:
        """Relative size of the difference; infinite for other events and other types."""
        if self.old is None or self.new is None or not self.part:
            return math.inf
        old_part, new_part = self.old.parts.get(self.part), self.new.parts.get(self.part)
        return (
            math.inf
            if old_part is None or new_part is None
            else estimate_relative_difference(old_part, new_part)
        )

    @property
    def differing_types(self) -> str:
        """Description of differing types; empty: none differ, or the events do."""
        if self.old is None or self.new is None:
            return ""
        if self.part not in self.old.parts or self.part not in self.new.parts:
            return ""
        return describe_first_differing_types(
            self.old.parts[self.part].types, self.new.parts[self.part].types
        )

    @property
    def changes_type(self) -> bool:
        """Return whether a value of the same name has another type."""
        return bool(self.differing_types) and not self.differing_types.startswith(_OTHER_NAMES)

    @property
    def new_to_old_ratio(self) -> float | None:
        """Ratio of the new to the old value, or of the norms, if that is a number."""
        if self.old is None or self.new is None or not self.part or self.differing_types:
            return None
        return _compute_ratio_of_norms(self.old.parts.get(self.part), self.new.parts.get(self.part))


def _get_digest_of_entry(parts: Mapping[str, Part], name: str) -> str:
    return parts[name].digest if name in parts else ""


def _compute_ratio_of_norms(old: Part | None, new: Part | None) -> float | None:
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
    """The growth of the difference between the values of one loss.

    Attributes:
        first: the first backward pass of this loss after the first difference, in the old version.
        optimizer: number of the optimiser that steps next; empty: none does.
        gaps: relative differences in the order of time.
    """

    first: Event
    optimizer: str
    gaps: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The result of comparing two traces.

    Attributes:
        verdict: "equal", "close" or "diverged".
        compared: number of compared events.
        first: the first difference, in numbers or order if there is one; None: they are equal.
        growth: growth of the difference of each loss after ``first``.
        extra: events that only one version has, after which both continue the same.
        equal: number of bit-identical events before the first difference.
        rounding: an earlier difference of rounding, if there is one.
        interface: the first difference in names, types or shapes, if there is one.
        numbers: the first difference in numbers or order, if ``first`` is one of types.
        not_compared: number of the last events of "close" traces that rounding alone may change.
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
    def differs_in_logs_only(self) -> bool:
        """Return whether the training is the same and only its logs differ."""
        return self._differs_only_in(("logs",))

    @property
    def trains_the_same(self) -> bool:
        """Return whether only logs, written files or printed text differ."""
        return self._differs_only_in(("logs", "files", "printed"))

    def _differs_only_in(self, kinds: Sequence[str]) -> bool:
        return self.verdict == "diverged" and self.first is not None and self.first.kind in kinds


@dataclass(frozen=True, kw_only=True)
class Crash:
    """An error by which the code under test ends a training on one version only.

    Attributes:
        label: "old" or "new".
        error: type and message, in one line.
        at: "file:line function" of the innermost frame of the framework.
        by: the frame of the script, or of the suite's training, that called it.
    """

    label: str
    error: str
    at: str
    by: str

    def __str__(self) -> str:
        return add_places_to_error(self.error, self.at, self.by)


@dataclass(frozen=True, kw_only=True)
class UncomparedTraining:
    """A training that could not be compared with the other version.

    Attributes:
        reasons: label of a version -> why it has no trace.
        supported: label of a version -> whether the framework has the feature that is trained.
        crash: the error of the code under test in one version before it trained; None: none.
    """

    name: str
    reasons: Mapping[str, str]
    supported: Mapping[str, bool]
    crash: Crash | None = None

    @property
    def is_supported_by_both_versions(self) -> bool:
        """Return whether both versions have the feature, so that the missing trace is a gap."""
        return all(self.supported.values())

    def __str__(self) -> str:
        text = "; ".join(dict.fromkeys(self.reasons.values()))
        return f"{self.name}, on {describe_version_label(' and '.join(self.reasons))}: {text}"


@dataclass(frozen=True, kw_only=True)
class ComparedTraining:
    """A training that ran on both versions.

    Attributes:
        name: name of the training.
        repeats: whether the traces repeat themselves to the bit; otherwise they prove nothing.
        notes: sentences on seeded generators and uncontrolled sources.
        crash: the error of the code under test in one version during training; None: none.
        representative: a training that differs in the same way, searched in its place; empty: none.
    """

    name: str
    comparison: Comparison
    old: Trace
    new: Trace
    repeats: bool
    notes: tuple[str, ...]
    crash: Crash | None = None
    representative: str = ""

    @property
    def algorithm(self) -> str:
        """The trained algorithm, or the file of a script."""
        return self.name.partition(" ")[0]

    @property
    def has_no_scenario(self) -> bool:
        """Return whether it is the training of the algorithm without a scenario."""
        return self.name == self.algorithm

    @property
    def uncompared_output(self) -> tuple[str, ...]:
        """Written output that could not be compared, with reasons."""
        return tuple(
            dict.fromkeys(
                f"{event.name}: {event.parts[LOST].text}"
                for trace in (self.old, self.new)
                for event in trace.events
                if LOST in event.parts
            )
        )

    @property
    def shows_same_training(self) -> bool:
        """Return whether this training shows that both versions do the same."""
        comparison = self.comparison
        return comparison.verdict != "diverged" and not comparison.not_compared and self.repeats

    @property
    def verdict_in_words(self) -> str:
        """The verdict of the comparison, with a note if the trace does not repeat itself."""
        verdict = (
            "differs in logs only"
            if self.comparison.differs_in_logs_only
            else self.comparison.verdict
        )
        if self.comparison.not_compared:
            verdict = f"{verdict} as far as compared"
        return verdict if self.repeats else f"{verdict}, but does not repeat itself"


def compute_executed_share(traced: Trace) -> float | None:
    """Return the executed share of the executable lines; None if lines were not recorded."""
    rows = list(traced.header["lines"].values())
    executable = sum(len(lines_of_file) for _, lines_of_file in rows)
    return sum(len(hit) for hit, _ in rows) / executable if executable else None


def list_missed_lines(traced: Sequence[ComparedTraining]) -> dict[str, list[int]]:
    """Return file of the new version -> lines of executed functions that no training ran."""
    noted = merge_executed_lines(training.new for training in traced)
    missed = {
        file: sorted(executable - executed)
        for file, (executed, executable) in sorted(noted.items())
    }
    return {file: lines for file, lines in missed.items() if lines}


def merge_executed_lines(traces: Iterable[Trace]) -> dict[str, tuple[set[int], set[int]]]:
    """Return file -> lines that trainings executed, and all lines that can be executed there."""
    merged: dict[str, tuple[set[int], set[int]]] = {}
    for trace in traces:
        for file, (executed, executable) in trace.header.get("lines", {}).items():
            file_lines = merged.setdefault(file, (set(), set()))
            file_lines[0].update(executed)
            file_lines[1].update(executable)
    return merged


def format_line_ranges(lines: Iterable[int]) -> str:
    """Format line numbers as ranges."""
    spans: list[list[int]] = []
    for line in sorted(lines):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)

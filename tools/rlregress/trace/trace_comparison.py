"""Compares two traces: equal to the bit, close, or diverged, and where first.

Events are aligned, not counted: an event that only one version has is noted and skipped if both
versions agree after it. Such extra events alone do not change the verdict: traces with numbers that
stay equal to the bit after them are equal, and the note names the skipped events. They are a
divergence (of order) if numbers diverge soon after them, or if they are the last events of a
training that continued on one version only.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from rlregress.model.recorded_traces import (
    VERSIONS,
    Comparison,
    Divergence,
    Event,
    Growth,
    Trace,
    estimate_relative_difference,
)
from rlregress.trace.align import (
    find_first_differing_part,
    find_next_matching_events,
    list_differing_parts,
)

#: the relative difference that reordered arithmetic in float32 makes at first.
CLOSE = 1e-6
#: what this may grow to in a few hundred updates; more is a divergence.
GROWN = 1e-2
#: a limit that the relative difference of two finite numbers never exceeds.
_FINITE = sys.float_info.max
#: a difference that grows by this factor from one event to the next is not rounding.
JUMP = 1e3
#: after so many equal optimiser steps, an extra event is taken to have had no effect.
ACQUITTED = 3

#: (kind of event, part) -> kind of difference, where events before and after it do not matter.
KINDS = {
    ("reset", "observation"): "environment",
    ("step", "action"): "exploration",
    ("step", "observation"): "environment",
    ("step", "reward"): "environment",
    ("step", "flags"): "environment",
    ("output", "value"): "data",
    ("output", "observation"): "environment",
    ("output", "reward"): "environment",
    ("output", "flags"): "environment",
    ("output", "last"): "environment",
    ("loss", "values"): "loss",
    ("data", "value"): "data",
    ("parameters", "value"): "initialisation",
    ("backward", "loss"): "loss",
    ("optimizer", "size"): "optimiser",
    ("optimizer", "parameters"): "parameters",
    ("optimizer", "gradient"): "gradient",
    ("optimizer", "learning_rate"): "schedule",
    ("optimizer", "update"): "optimiser",
    ("final", "parameters"): "parameters",
    ("final", "buffers"): "parameters",
}
#: parts in which rounding does not grow, however long the training goes on.
EXACT = frozenset({"learning_rate", "size", "flags"})
#: kinds of events that do not change the training -> kind of their differences.
INCIDENTAL = {"module": "module", "log": "logs", "file": "files", "printed": "printed"}
#: kinds of events for output that a user reads: compared even if it does not repeat itself fully.
WRITTEN = ("file", "printed")
#: kinds of events that train; a write in place is not one, as it shows in later values.
TRAINING = frozenset({"backward", "optimizer"})
#: kinds of events that tell acting from learning.
_DECISIVE = TRAINING | {"step"}


class _Walk:
    """Both traces side by side, up to the first event that is not the same."""

    def __init__(self, old: Trace, new: Trace) -> None:
        old_events, self.old_end = _split_off_networks(old.events)
        new_events, self.new_end = _split_off_networks(new.events)
        self.old, only_old = _split_common_and_exclusive_events(old_events, new_events)
        self.new, only_new = _split_common_and_exclusive_events(new_events, old_events)
        self.i = self.j = self.compared = self.equal = 0
        self.extra = [("old", event) for event in only_old] + [("new", event) for event in only_new]
        # generated calls may be in one version only: the other lacks their name or option
        generated = old.is_generated and new.is_generated and any(e.is_result for e in self.old)
        self.interface = None if generated else _find_result_of_one_version(only_old, only_new)
        self.has_failed = bool(old.failure or new.failure)
        self.rounding: Divergence | None = None
        #: indices of the first events that differ by rounding, in the old and the new trace.
        self.rounds_from: tuple[int, int] | None = None
        self.worst = 0.0
        #: the first extra event that trains: without effect if the final networks are equal.
        self.trains: Divergence | None = None
        #: the first extra event that may have had an effect, and equal optimiser steps since then.
        self.suspect: Divergence | None = None
        self.since = 0

    def get_next_events(self) -> tuple[Event | None, Event | None]:
        """Return the next event of both traces; after all others, the final networks."""
        if self.i == len(self.old) and self.j == len(self.new):
            return self.old_end, self.new_end
        return (
            self.old[self.i] if self.i < len(self.old) else None,
            self.new[self.j] if self.j < len(self.new) else None,
        )

    def make_divergence(self, kind: str, part: str) -> Divergence:
        """Return the difference of the next events as a divergence."""
        x, y = self.get_next_events()
        return Divergence(
            kind=kind, part=part, old=x, new=y, before=tuple(self.old[max(0, self.i - 3) : self.i])
        )

    def find_first_divergence(self) -> Comparison:
        while self.i < len(self.old) or self.j < len(self.new):
            divergence = self._compare_next_events()
            if divergence is not None:
                return self._make_comparison_at_end("diverged", divergence)
        divergence = self._compare_final_networks()
        if divergence is not None:
            return self._make_comparison_at_end("diverged", divergence)
        if self.interface is not None:
            return self._make_comparison_at_end("diverged", self.interface)
        return self._make_comparison_at_end(
            "equal" if self.rounding is None else "close", self.rounding
        )

    def _compare_final_networks(self) -> Divergence | None:
        """Compare the final networks of both traces; return a difference that no event shows."""
        x, y = self.get_next_events()
        if x is None or y is None:
            # without final networks, nothing excuses an update that only one version has made
            if self.trains is not None or x is y or self.has_failed:
                return self.trains
            # networks that one version alone has changed, without an event
            return self.make_divergence("order", "")
        part, gap = self._find_first_unexplained_part(x, y)
        self._note_type_difference(x, y)
        self.compared += 1
        if not part:
            self.equal += self._is_equal_so_far()
            # equal final networks excuse an extra update, but no update with other numbers
            return self.trains if self._do_skipped_numbers_differ() else None
        divergence = self.make_divergence(KINDS[x.kind, part], part)
        if self._is_gap_explained(part, gap):
            self.rounding = self.rounding or divergence
            return None
        return self.trains or divergence

    def _do_skipped_numbers_differ(self) -> bool:
        """Return whether both versions skipped the same training event, with other numbers."""
        old, new = (
            Counter(
                (event.key, event.digests)
                for event_label, event in self.extra
                if event_label == label and event.kind in TRAINING
            )
            for label in VERSIONS
        )
        return bool({key for key, _ in old - new} & {key for key, _ in new - old})

    def _make_comparison_at_end(self, verdict: str, divergence: Divergence | None) -> Comparison:
        rounding = self.rounding if divergence is not self.rounding else None
        numbers = None
        if verdict == "diverged" and self.interface is not None and self.interface.changes_type:
            # a change of type may be the cause of later differences
            divergence, numbers = (
                self.interface,
                divergence if divergence is not self.interface else None,
            )
        i, j = self.rounds_from or (self.i, self.j)
        return Comparison(
            verdict=verdict,
            compared=self.compared,
            first=divergence,
            growth=_measure_growth_of_losses(self.old[i:], self.new[j:]),
            extra=tuple(self.extra),
            equal=self.equal,
            rounding=rounding,
            interface=self.interface,
            numbers=numbers,
        )

    def _is_equal_so_far(self) -> bool:
        return self.rounding is None and self.interface is None

    def _compare_next_events(self) -> Divergence | None:
        """Advance by one event or one alignment; return the divergence if neither is possible."""
        x, y = self.get_next_events()
        if x is not None and y is not None and _differ_only_in_numbers(x, y):
            self._note_type_difference(x, y)
            part, gap = self._find_first_unexplained_part(x, y)
            if self._is_gap_explained(part, gap):
                self._count_compared_event(x, part, gap)
                return None
            if part not in EXACT and self._skip_events_of_one_version(may_skip_both=False):
                return None
            self.compared += 1
            return self._find_cause(
                self.make_divergence(self._classify_divergence(x, y, part), part), gap
            )
        if self._skip_events_of_one_version(may_skip_both=True):
            return None
        return self._find_cause(self.make_divergence("order", ""), math.inf)

    def _find_first_unexplained_part(self, old: Event, new: Event) -> tuple[str, float]:
        """Return the first part that no rounding explains, or else the first that differs at all.

        Values with differing names, types or shapes are not judged here: later events show whether
        numbers diverge.
        """
        retyped = _list_retyped_parts(old, new)
        differing = [row for row in list_differing_parts(old, new) if row[0] not in retyped]
        beyond = [name for name in differing if not self._is_gap_explained(*name)]
        return (beyond or differing or [("", 0.0)])[0]

    def _is_gap_explained(self, part: str, gap: float) -> bool:
        if not part or gap <= CLOSE:
            return True
        if self.rounding is None or part in EXACT:
            return False
        # rounding that has grown, not a difference of its own that comes on top
        return gap < GROWN and gap <= JUMP * self.worst

    def _note_type_difference(self, old: Event, new: Event) -> None:
        """Note the first value whose type differs, or else the first that has another name."""
        if self.interface is not None and self.interface.changes_type:
            return
        for part in _list_retyped_parts(old, new):
            type_difference = self.make_divergence("interface", part)
            if self.interface is None or type_difference.changes_type:
                self.interface = type_difference
                return

    def _count_compared_event(self, old: Event, part: str, gap: float) -> None:
        self.compared += 1
        if part and self.rounding is None:
            self.rounds_from = self.i, self.j
            self.rounding = self.make_divergence(
                self._classify_divergence(old, self.new[self.j], part), part
            )
        self.worst = max(self.worst, gap)
        self.equal += self._is_equal_so_far()
        if old.kind == "optimizer" and self.suspect is not None:
            self.since += 1
            if self.since >= ACQUITTED:
                self.suspect = None
        self.i, self.j = self.i + 1, self.j + 1

    def _skip_events_of_one_version(self, may_skip_both: bool) -> bool:
        """Skip events of one version if both agree afterwards; return whether any were skipped."""
        limit = GROWN if self.rounding is not None else 0.0
        resumed = find_next_matching_events(
            self.old, self.new, self.i, self.j, limit, may_skip_both
        )
        if resumed is None:
            return False
        only = [*self.old[self.i : resumed[0]], *self.new[self.j : resumed[1]]]
        ends = resumed[0] >= len(self.old) and resumed[1] >= len(self.new)
        # a result of one version only is a difference: no later event excuses it
        if any(event.is_result for event in only):
            return False
        # at the end no later event can excuse a training that continued on one version
        if ends and any(event.kind in ("optimizer", "step") for event in only):
            return False
        if self.suspect is None:
            self.suspect, self.since = self.make_divergence("order", ""), 0
        if self.trains is None and any(event.kind in TRAINING for event in only):
            self.trains = self.make_divergence("order", "")
        self.extra += [("old", event) for event in self.old[self.i : resumed[0]]]
        self.extra += [("new", event) for event in self.new[self.j : resumed[1]]]
        self.i, self.j = resumed
        return True

    def _find_cause(self, divergence: Divergence, gap: float) -> Divergence:
        """Return the cause of a difference: a skipped event, earlier rounding, or itself."""
        if self.suspect is not None:
            return self.suspect
        # rounding that has grown, or a difference of its own that comes on top?
        grown = divergence.part not in EXACT and gap <= JUMP * self.worst
        if self.rounding is not None and grown:
            return self.rounding
        return divergence

    def _classify_divergence(self, old: Event, new: Event, part: str) -> str:
        if old.kind == "write":
            if self._is_initialisation_different():
                return "initialisation"
            before = _find_first_decisive_kind(self.old[: self.i][::-1])
            after = _find_first_decisive_kind(self.old[self.i :])
            if (before, after) == ("backward", "optimizer"):
                return "gradient"
            # between acting and learning a buffer is filled, after learning come the targets
            return "data" if before == "step" else "target update"
        if old.kind == "draw":
            if self._is_initialisation_different():
                return "initialisation"
            after = _find_first_decisive_kind(self.old[self.i :])
            return "exploration" if after == "step" else "sampling"
        return KINDS.get((old.kind, part), "order")

    def _is_initialisation_different(self) -> bool:
        """Return whether this difference gives networks other initial parameters."""
        pair = [
            _find_first_new_parameters(events)
            for events in (self.old[self.i :], self.new[self.j :])
        ]
        if pair[0] is None or pair[1] is None:
            return False
        return pair[0].digests != pair[1].digests


def _list_retyped_parts(old: Event, new: Event) -> list[str]:
    """Return the parts of both events whose names, types or shapes differ."""
    return [
        name
        for name, part in old.parts.items()
        if name in new.parts and part.types != new.parts[name].types
    ]


def _differ_only_in_numbers(old: Event, new: Event) -> bool:
    """Return whether two events differ only in numbers."""
    if old.key != new.key:
        return False
    # a function may be renamed, but draws of two functions are two draws, and losses two losses
    if old.kind == "backward":
        return old.function == new.function or find_first_differing_part(old, new)[1] < GROWN
    loose = old.kind in ("step", "reset", "output", "loss", "optimizer", "parameters")
    return loose or old.function == new.function or old.digests == new.digests


def _split_off_networks(events: Sequence[Event]) -> tuple[Sequence[Event], Event | None]:
    """Return the events before the final networks, and that event, if there is one."""
    if events and events[-1].kind == "final":
        return events[:-1], events[-1]
    return events, None


#: kinds of events that are matched by name; those of a name in one version only are left out.
_NAMED = (("reset", "step"), ("output",), ("loss",))


def _split_common_and_exclusive_events(
    events: Sequence[Event], other_events: Sequence[Event]
) -> tuple[list[Event], list[Event]]:
    """Split events into those whose names the other version has, too, and the others.

    Environments, outputs and losses have names. Environments count as common if the other version
    has none at all.
    """
    common, exclusive = list(events), []
    for kinds in _NAMED:
        other_names = {event.key[1] for event in other_events if event.kind in kinds}
        if other_names or kinds != _NAMED[0]:
            exclusive += [e for e in common if e.kind in kinds and e.key[1] not in other_names]
            common = [e for e in common if e.kind not in kinds or e.key[1] in other_names]
    return common, exclusive


def _find_result_of_one_version(old: Sequence[Event], new: Sequence[Event]) -> Divergence | None:
    """Return a difference in a result that only one version returns, such as an error."""
    old_event, new_event = (next((e for e in events if e.is_result), None) for events in (old, new))
    return (
        Divergence(kind="interface", part="", old=old_event, new=new_event, before=())
        if old_event or new_event
        else None
    )


def _find_first_new_parameters(events: Sequence[Event]) -> Event | None:
    """Return the first event of new parameters, unless a step or an update comes before it."""
    for event in events:
        if event.kind == "parameters":
            return event
        if event.kind in _DECISIVE:
            return None
    return None


def _find_first_decisive_kind(events: Sequence[Event]) -> str:
    return next((event.kind for event in events if event.kind in _DECISIVE), "")


def compare_traces(old: Trace, new: Trace) -> Comparison:
    """Walk both traces to the first difference, then compare incidental events.

    Incidental are returned values of modules, logs and written files. They have no effect on later
    events and are compared name by name, unless they differ between repetitions.
    """
    old, new = _drop_unsteady_parts(old, new)
    common_traces = (replace(trace, events=drop_incidental_events(trace)) for trace in (old, new))
    comparison = _Walk(*common_traces).find_first_divergence()
    if (
        comparison.verdict == "diverged"
        and comparison.first is not None
        and comparison.first.kind == "loss"
    ):
        limit = CLOSE if comparison.rounding is None else GROWN
        comparison = replace(
            comparison,
            first=_find_cause_module(comparison.first, old, new, limit) or comparison.first,
        )
    for kind in INCIDENTAL:
        if comparison.verdict != "diverged":
            comparison = _judge_incidental_events(comparison, kind, old.events, new.events)
    return comparison


def drop_incidental_events(trace: Trace) -> tuple[Event, ...]:
    """Return the events of a trace that have an effect on later ones."""
    return tuple(event for event in trace.events if event.kind not in INCIDENTAL)


def _find_cause_module(loss: Divergence, old: Trace, new: Trace, limit: float) -> Divergence | None:
    """Return where a module returns other values before a loss does; None if none does.

    Losses are often computed from such values. If the versions call modules in different orders,
    none is returned.
    """
    if loss.old is None or loss.new is None:
        return None
    old_modules, new_modules = (
        [event for event in trace.events if event.kind == "module" and event.index < until.index]
        for trace, until in ((old, loss.old), (new, loss.new))
    )
    if [event.name for event in old_modules] != [event.name for event in new_modules]:
        return None
    for x, y in zip(old_modules, new_modules, strict=True):
        part, gap = find_first_differing_part(x, y)
        if gap > limit and not _list_retyped_parts(x, y):
            before = [e for e in old.events if e.index < x.index and e.kind not in INCIDENTAL]
            return Divergence(
                kind="computation", part=part, old=x, new=y, before=tuple(before[-3:])
            )
    return None


def mark_unsteady_parts(trace: Trace, repetition: Trace) -> Trace:
    """Return a trace that marks the written parts that differ in its repetition."""
    unsteady = trace.unrepeatable_output | _find_unsteady_parts(trace, repetition)
    return replace(trace, header={**trace.header, "unsteady": sorted(unsteady)})


def _find_unsteady_parts(trace: Trace, repetition: Trace) -> set[tuple[str, str, int, str]]:
    first_events, repeated_events = (
        {
            key: event
            for key, event in number_events_of_name(recording.events)
            if event.kind in WRITTEN
        }
        for recording in (trace, repetition)
    )
    unsteady = {(*key, "") for key in first_events.keys() ^ repeated_events.keys()}
    for key in first_events.keys() & repeated_events.keys():
        differing = list_differing_parts(first_events[key], repeated_events[key])
        unsteady |= {(*key, name) for name, _ in differing}
    return unsteady


def number_events_of_name(
    events: Sequence[Event],
) -> Iterator[tuple[tuple[str, str, int], Event]]:
    """Yield events with kind, name, and number, from 1, among those of that name."""
    counts: Counter[tuple[str, str]] = Counter()
    for event in events:
        counts[event.key] += 1
        yield (*event.key, counts[event.key]), event


def _drop_unsteady_parts(old: Trace, new: Trace) -> tuple[Trace, Trace]:
    """Return both traces without the parts that do not repeat in one of them."""
    unsteady = old.unrepeatable_output | new.unrepeatable_output

    def drop_from(trace: Trace) -> Trace:
        events = (
            replace(
                event, parts={n: p for n, p in event.parts.items() if (*key, n) not in unsteady}
            )
            for key, event in number_events_of_name(trace.events)
            if (*key, "") not in unsteady
        )
        return replace(trace, events=tuple(events)) if unsteady else trace

    return drop_from(old), drop_from(new)


def _judge_incidental_events(
    comparison: Comparison, event_kind: str, old: Sequence[Event], new: Sequence[Event]
) -> Comparison:
    """Add to a comparison the differences of one kind of incidental events, such as logs."""
    # they are results of the training: they round where it does
    limit = CLOSE if comparison.verdict == "equal" else GROWN
    first = rounded = None
    for divergence, gap in _compare_incidental_events(event_kind, old, new, limit):
        if gap > limit:
            first = first or divergence
        elif divergence.part:
            rounded = rounded or divergence
    events_of_kind = sum(event.kind == event_kind for event in old)
    count = comparison.compared + events_of_kind
    if first is not None:
        return replace(
            comparison, verdict="diverged", first=first, rounding=comparison.first, compared=count
        )
    if rounded is not None and comparison.verdict == "equal":
        return replace(comparison, verdict="close", first=rounded, compared=count)
    return replace(comparison, compared=count, equal=comparison.equal + events_of_kind)


def find_first_nonnumeric_differences(old: Trace, new: Trace) -> dict[tuple[str, str], Divergence]:
    """Return (kind, name) -> the first incidental event that differs by more than finite numbers.

    Examples: other text in a file, a log entry that only one version has, or another type.
    """
    old, new = _drop_unsteady_parts(old, new)
    divergences: dict[tuple[str, str], Divergence] = {}
    for kind in INCIDENTAL:
        for divergence, gap in _compare_incidental_events(kind, old.events, new.events, _FINITE):
            event = divergence.old or divergence.new
            if event is not None and math.isinf(gap):
                divergences.setdefault((kind, event.key[1]), divergence)
    return divergences


def _compare_incidental_events(
    kind: str, old: Sequence[Event], new: Sequence[Event], limit: float
) -> Iterator[tuple[Divergence, float]]:
    """Yield the difference of each pair of incidental events of one kind and name, and its size.

    For an equal pair, the part is empty and the size 0. Names are in the order of the old
    version. Modules with more events in one version are left out: one may have been moved into
    another.

    Args:
        limit: of written output, the first part that differs by more than this is yielded.
    """
    by_name: dict[str, tuple[list[Event], list[Event]]] = {}
    for number, events in enumerate((old, new)):
        for event in events:
            if event.kind == kind:
                by_name.setdefault(event.key[1], ([], []))[number].append(event)
    for first, second in by_name.values():
        if kind == "module" and len(first) != len(second):
            continue
        for x, y in zip_longest(first, second):
            part, gap = "", math.inf
            if x is not None and y is not None:
                differing = list_differing_parts(x, y) or [("", 0.0)]
                beyond = [row for row in differing if row[1] > limit] if kind in WRITTEN else []
                part, gap = (beyond or differing)[0]
            yield Divergence(kind=INCIDENTAL[kind], part=part, old=x, new=y, before=()), gap


def _measure_growth_of_losses(old: Sequence[Event], new: Sequence[Event]) -> tuple[Growth, ...]:
    """Return how the relative difference of each loss grows, by its function and optimiser."""
    old_losses, new_losses = _group_losses(old), _group_losses(new)
    return tuple(
        Growth(
            first=old_losses[key][0],
            optimizer=key[1],
            gaps=tuple(
                estimate_relative_difference(x.parts["loss"], y.parts["loss"])
                for x, y in zip(old_losses[key], new_losses[key], strict=False)
            ),
        )
        for key in old_losses
        if key in new_losses
    )


def _group_losses(events: Sequence[Event]) -> dict[tuple[str, str], list[Event]]:
    """Return function and number of the optimiser that steps next -> losses."""
    losses: dict[tuple[str, str], list[Event]] = {}
    waiting: list[Event] = []
    for event in (*events, None):
        if event is not None and event.kind == "backward":
            waiting.append(event)
        elif event is None or event.kind == "optimizer":
            for loss in waiting:
                number = event.key[1] if event is not None else ""
                losses.setdefault((loss.function, number), []).append(loss)
            waiting.clear()
    return losses

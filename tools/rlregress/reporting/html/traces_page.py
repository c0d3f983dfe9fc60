"""Traces on a page: where two sides part, what came before, and how the difference grows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rlregress.model import explain, tones
from rlregress.model.code import Changed, Hunk
from rlregress.model.recorded_traces import Growth, Traced, share
from rlregress.model.upgrade_result import Cause, ChangedDetail
from rlregress.reporting import causes_text
from rlregress.reporting.html import figures
from rlregress.reporting.html.page import (
    Badge,
    Figure,
    Finding,
    Folded,
    Quoted,
    SourcePair,
    Table,
)

SIDES = ("the old version", "the new version")
#: rows of a table of losses
_ROWS = 40


def table(traced: Sequence[Traced]) -> Table:
    """One row for each training."""
    rows = [[_badge(of), of.name, of.comparison.compared, _share(of)] for of in traced]
    return Table(("trace", "training", "events", "lines run"), rows, 2)


def _badge(traced: Traced) -> Badge:
    if not traced.repeats:
        return Badge(traced.word, tones.UNSURE)
    good = traced.comparison.verdict in ("equal", "close")
    return Badge(traced.word, tones.GOOD if good else tones.OTHER)


def _share(traced: Traced) -> str:
    executed = share(traced.b)
    return "not measured" if executed is None else f"{executed:.0%}"


def finding(
    group: Sequence[Traced],
    cause: Cause | None,
    details: Sequence[ChangedDetail],
    hunks: Mapping[Changed, Hunk],
    command: str,
) -> Finding:
    """A training that does not do the same on both sides, or of which nothing is proved.

    Args:
        group: the training, and others that part in the same way, which are named alone.
    """
    traced = group[0]
    comparison = traced.comparison
    parts: list[object] = []
    first = comparison.first
    if first is not None and first.part:
        parts.append(_values(traced))
    if comparison.growth and any(gap for growth_of in comparison.growth for gap in growth_of.gaps):
        parts.append(growth(traced.name, comparison.growth, command))
    for function in cause.functions[:2] if cause is not None else ():
        if function in hunks:
            parts.append(SourcePair(hunks[function], SIDES))
    text = "\n".join([*traced.notes, *explain.comparison(comparison, traced.a, traced.b)])
    parts.append(Quoted(text, "The whole of it in words: what came before, and from where"))
    if len(group) > 1:
        parts.append(Folded(causes_text.others(group), [[training.name for training in group[1:]]]))
    lines = [explain.divergence(first)[0]] if first is not None else []
    lines = lines + causes_text.lines(cause, details)
    return Finding(traced.name, _badge(traced), lines, (), parts, command)


def _values(traced: Traced) -> Table:
    """Both events, with the values that differ."""
    first = traced.comparison.first
    assert first is not None
    rows = []
    for side, event in zip(SIDES, (first.a, first.b), strict=True):
        if event is None:
            rows.append([side, "the trace has ended", "", ""])
            continue
        observed = explain.value(event, first.part, bool(first.types))
        rows.append([side, explain.event(event), first.part, observed])
    before = [["both, before", explain.event(event), "", ""] for event in first.before]
    return Table(("", "event", "what differs", "value"), before + rows)


def growth(name: str, given: Sequence[Growth], command: str) -> Figure:
    """Relative differences of losses, from the first difference on."""
    lines: dict[str, Sequence[float]] = {}
    for gap in given:
        label = f"{gap.first.function}:{gap.first.line}"
        if gap.optimizer:
            label += f", optimiser {gap.optimizer}"
        lines[label if label not in lines else f"{label} ({len(lines) + 1})"] = gap.gaps
    drawn = figures.growth(
        lines, re.sub(r"\W+", "-", f"growth {name}"), f"growth of the difference in {name}"
    )
    longest = max(map(len, lines.values()))
    step = max(1, -(-longest // _ROWS))
    rows = [
        [place + 1, *(f"{gaps[place]:.3g}" if place < len(gaps) else "" for gaps in lines.values())]
        for place in range(0, longest, step)
    ]
    every = f"; every {step}th is in the table" if step > 1 else ""
    caption = f"Relative difference of the losses from the first difference on, log scale{every}"
    return Figure(drawn, caption, Table(("loss", *lines), rows, len(lines) + 1), command)

"""What many nights come to: in words, in ``trend.json``, and as ``trend.html``."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rlregress.model.quantities import BY_NAME
from rlregress.model.verdict import HOLDS, IMPROVED, INCONCLUSIVE, REGRESSED
from rlregress.reporting import tables, words
from rlregress.reporting.html import figures
from rlregress.reporting.html import page as pages
from rlregress.reporting.html.page import Badge, Card, Facts, Figure, Heading, Section, Step, Table
from rlregress.studies.trend.trend_result import SMALL, Row, Series, Shift, Trend

SCHEMA = 1
#: changes of cells that are told in a sentence; the table has them all
_LISTED = 30
_THROUGHPUT = {
    "training": "ratio to the floor while it learns",
    "collecting": "ratio to the floor without updates",
    "peak memory": "peak memory",
}
_COLUMNS = ("judged", "nights", "runs", "level", "changes", "would detect", "steps per CPU s",
            "checks", "verdict")  # fmt: skip


def date(trend: Trend, night: int) -> str:
    """The day of a night; with the time where another night has the same day."""
    day = trend.dates[night][:10]
    alone = (
        sum(other_date[:10] == day for other_date in trend.dates[max(0, night - 5) : night + 6])
        == 1
    )
    return day if alone else trend.dates[night][:16].replace("T", " ")


def _is_throughput(series: Series) -> bool:
    return " " in series.subject


def _what(series: Series, shift: Shift) -> str:
    """What happened to a level, in words."""
    if _is_throughput(series):
        before, after = words.number(shift.before), words.number(shift.after)
        return f"{_THROUGHPUT[series.quantity]}: {before} -> {after} ({shift.share:+.0%})"
    text = BY_NAME[series.quantity].moved(shift.share)
    if series.quantity == "critic":
        return text
    group = "-" not in series.subject.partition("-")[2]
    if group:
        return f"{text}, over the cells of the group"
    return f"{text}: {words.number(shift.before)} -> {words.number(shift.after)}"


def shift_line(trend: Trend, series: Series, shift: Shift) -> str:
    """One change: what, since which night, and which versions changed there."""
    nights = f"{date(trend, shift.earliest)} to {date(trend, shift.latest)}"
    between = "" if shift.earliest == shift.latest else f" (95 % interval: {nights})"
    changed = "; ".join(f"{date(trend, night)}: {', '.join(of)}" for night, of in shift.versions)
    there = f"changed there: {changed}" if changed else "no version changed there"
    recovered = "; recovered since" if shift.recovered else ""
    return (
        f"{shift.verdict:<10} {series.subject}: {_what(series, shift)}; first night "
        f"{date(trend, shift.night)}{between}{recovered}; {there}"
    )


def shifts(trend: Trend) -> list[tuple[Series, Shift]]:
    """Every change that matters; what regressed and did not recover first, then by night."""
    every = [
        (series, shift)
        for series in trend.every
        for shift in series.shifts
        if shift.verdict != SMALL
    ]
    return sorted(every, key=lambda of: (of[1].recovered, of[1].verdict != REGRESSED, of[1].night))


def _detectable(series: Series) -> str:
    if math.isnan(series.visible):
        nights = len(series.nights)
        return f"nothing: {nights} nights, {series.needed} needed" if nights < series.needed else (
            "nothing"
        )  # fmt: skip
    of = BY_NAME.get(series.quantity)
    share = math.exp(series.visible) if series.quantity == "critic" else series.visible
    return f"x{share:.2f}" if of is BY_NAME["critic"] else f"{share:.0%}"


def _short(trend: Trend, row: Row) -> str:
    """The changes of a row, as they stand in a cell of the table."""
    return ", ".join(
        f"{series.quantity} {shift.share:+.0%} {date(trend, shift.night)}"
        for series in row.series.values()
        for shift in series.shifts
        if shift.verdict != SMALL
    )


def _levels(row: Row) -> str:
    of_group = not row.verdicts and not any(map(_is_throughput, row.series.values()))
    if of_group:
        return "-"
    first = next(iter(row.series.values()))
    if _is_throughput(first):
        return ", ".join(f"{name} {words.number(of.level)}" for name, of in row.series.items())
    return words.number(first.level)


def _row(trend: Trend, row: Row) -> list[str]:
    first = next(iter(row.series.values()))
    before, after = row.steps_per_cpu_second
    speed = "-" if math.isnan(after) else f"{before:.0f} -> {after:.0f}"
    gates = ", ".join(f"{count} {verdict}" for verdict, count in sorted(row.verdicts.items()))
    return [
        row.name,
        str(len(first.nights)),
        str(first.runs),
        _levels(row),
        _short(trend, row) or "-",
        _detectable(first),
        speed,
        gates or "-",
        row.verdict,
    ]


def not_judged(trend: Trend) -> list[str]:
    """What is not judged, or not compared, or less certain, in sentences."""
    sentences = list(trend.left_out)
    untested = [series for series in trend.every if math.isnan(series.visible)]
    if untested:
        sentences.append(
            f"{len(untested)} of {len(trend.every)} histories are too short, or in too many "
            "parts that cannot be compared, to show any change"
        )
    sentences += [
        f"consecutive nights of {series.subject} {series.quantity} resemble each other "
        f"(z {series.alike:.1f}): its changes are less certain than the error rate says"
        for series in trend.every
        if series.alike
    ]
    return sentences


def table(trend: Trend) -> tuple[tuple[str, ...], list[list[str]]]:
    """Heads, and a row for each cell, group and throughput."""
    return _COLUMNS, [_row(trend, row) for row in trend.rows]


def error_rate(trend: Trend) -> str:
    """How often a page reports a change where nothing changed, and what 'would detect' is."""
    return (
        f"Error rate: if nothing changed, some change is named above in about "
        f"{words.rate(trend.alpha)} of such pages ({trend.histories} histories tested together). "
        "Nights are assumed to be independent. 'Would detect': the drop of returns, begun "
        "half-way, that is detected with 80 % power. Steps per CPU second, first and last "
        "nights, are only descriptive: they include the load of the machine."
    )


def lines(trend: Trend) -> list[str]:
    """The page, in Markdown: what is not judged, what changed, and the table."""
    begin, end = trend.dates[0][:10], trend.dates[-1][:10]
    cells = sum(bool(row.verdicts) for row in trend.rows)
    sentences = [
        f"# Trend of {len(trend.dates)} nights, {begin} to {end}, {cells} cells: {trend.verdict}",
        "",
    ]
    sentences += [f"- {sentence}" for sentence in not_judged(trend)]
    sentences += [""] if sentences[-1] else []
    every = shifts(trend)
    listed = [shift_line(trend, *shift) for shift in every[:_LISTED]]
    if len(every) > _LISTED:
        listed.append(f"{len(every) - _LISTED} more changes: see the table")
    small = sum(shift.verdict == SMALL for series in trend.every for shift in series.shifts)
    if small:
        listed.append(f"{small} changes that are too small to matter: see trend.json")
    sentences += [f"- {line}" for line in listed] or ["No history changed."]
    head, rows = table(trend)
    sentences += [
        "",
        *tables.head(*head),
        *(tables.row(*row) for row in rows),
        "",
        error_rate(trend),
    ]
    return sentences


def _series(series: Series) -> dict[str, Any]:
    """Without the number of every night, which the nights themselves hold."""
    kept = {name: of for name, of in vars(series).items() if name not in ("nights", "means")}
    return {**kept, "nights": len(series.nights), "shifts": [asdict(of) for of in series.shifts]}


def as_json(trend: Trend) -> dict[str, Any]:
    """``trend.json``."""
    rows = [
        {**vars(row), "series": {name: _series(of) for name, of in row.series.items()}}
        for row in trend.rows
    ]
    content = {"schema": SCHEMA, "verdict": trend.verdict, "exit_code": trend.exit_code}
    return {**content, **vars(trend), "rows": rows}


#: histories that are drawn; the table has them all
_DRAWN = 12
#: points of a history, beyond which neighbouring nights are drawn as their mean
_POINTS = 200
#: sentences of the first screen
_ON_TOP = 6
_MEANING = {
    HOLDS: "Nothing is worse than it was, as far as these nights can show.",
    IMPROVED: "Something is better than it was, nothing worse.",
    REGRESSED: "Something dropped and did not recover.",
    INCONCLUSIVE: "These nights cannot tell.",
}
#: a version as the nights tell it
_RAISED = re.compile(r"([\w.-]+) (\d\S*) -> (\d\S*)")


def title(trend: Trend) -> str:
    """Of how many nights, and what they come to."""
    return f"Trend of {len(trend.dates)} nights: {trend.verdict}"


def page(trend: Trend, facts: Facts) -> str:
    """The page of many nights."""
    sections = [_changes(trend), _histories(trend)]
    return pages.page(facts, [card(trend)], sections, closing=error_rate(trend))


def card(trend: Trend) -> Card:
    """The first screen."""
    begin, end = trend.dates[0][:10], trend.dates[-1][:10]
    changes = shifts(trend)
    return Card(
        f"{begin} to {end}",
        Badge(trend.verdict),
        _MEANING[trend.verdict],
        [f"{sentence[0].upper()}{sentence[1:]}." for sentence in not_judged(trend)],
        pages.first((shift_line(trend, *shift) for shift in changes), _ON_TOP),
        [],
        _steps(changes),
    )


def _steps(changes: Sequence[tuple[Series, Shift]]) -> list[Step]:
    """An upgrade gate of the version that changed where the first drop began."""
    for _, shift in changes:
        if shift.verdict != REGRESSED or shift.recovered:
            continue
        for found in (_RAISED.fullmatch(text) for _, of in shift.versions for text in of):
            if found is not None:
                name, before, after = found.groups()
                versions = [f"{name}=={before}", f"{name}=={after}"]
                return [
                    Step(
                        "See what that version changed:",
                        shlex.join(["rlregress", "upgrade", *versions]),
                    )
                ]
        return [Step("Look at what else changed in these nights; no version did.")]
    return [Step("Nothing: go on.")]


def _changes(trend: Trend) -> Section:
    """The histories that changed, drawn, each with its changes."""
    changed: dict[tuple[str, str], Series] = {}
    for series, _ in shifts(trend):
        changed.setdefault((series.subject, series.quantity), series)
    parts: list[object] = []
    for series in list(changed.values())[:_DRAWN]:
        parts += [Heading(f"{series.subject}, {series.quantity}"), _figure(trend, series)]
    more = len(changed) - _DRAWN
    lead = f"{more} more histories changed: see the table." if more > 0 else ""
    return Section("changes", "What changed", lead, parts)


def _figure(trend: Trend, series: Series) -> Figure:
    size = -(-len(series.nights) // _POINTS)
    begins = range(0, len(series.nights), size)
    means = [float(np.mean(series.means[at : at + size])) for at in begins]
    first = [series.nights[at] for at in begins]
    levels = [
        (shift.night, shift.earliest, shift.latest)
        for shift in series.shifts
        if shift.verdict != SMALL
    ]
    name = f"{series.subject}, {series.quantity}"
    drawn = figures.nights(
        figures.Nights(
            first, means, series.nights, series.means, levels, [date[:10] for date in trend.dates]
        ),
        re.sub(r"\W+", "-", name),
        f"{name} of {len(series.nights)} nights",
    )
    each = "a night" if size == 1 else f"the mean of {size} nights"
    caption = (
        f"Each circle is {each}; lines are levels; where it changed is upright, its 95 % interval "
        "shaded"
    )
    rows = [[trend.dates[n][:10], words.number(m)] for n, m in zip(first, means, strict=True)]
    return Figure(drawn, caption, Table(("first night", "mean"), rows, 1))


def _histories(trend: Trend) -> Section:
    head, rows = table(trend)
    return Section("all", "All that was judged", "", [Table(head, rows)])

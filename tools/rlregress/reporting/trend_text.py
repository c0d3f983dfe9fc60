"""How many nights are put into words: what changed and when, then one table."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rlregress.model.quantities import BY_NAME
from rlregress.model.trend_result import SMALL, Row, Series, Shift, Trend
from rlregress.model.verdict import REGRESSED
from rlregress.reporting import tables, words

SCHEMA = 1
#: changes of cells that are told in a sentence; the table has them all
_LISTED = 30
_THROUGHPUT = {
    "training": "ratio to the floor while it learns",
    "collecting": "ratio to the floor without updates",
    "peak memory": "peak memory",
}
_COLUMNS = ("judged", "nights", "runs", "level", "changes", "sees", "steps per CPU s", "gates",
            "verdict")  # fmt: skip


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
    """How often a page says that something changed where nothing did, and what 'sees' is."""
    return (
        f"Error rate: if nothing changed, some change is named above in about "
        f"{words.rate(trend.alpha)} of such pages ({trend.histories} histories tested together; "
        "nights are taken as independent of each other). 'sees': the drop of returns, begun "
        "half-way, that is detected with 80 % power. Steps per CPU second, first and last "
        "nights, are "
        "descriptive: the load of the machine is in them."
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

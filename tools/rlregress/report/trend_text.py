"""The trend over many nightly runs: in words, and as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlregress.model.quantities import BY_NAME
from rlregress.model.trend_result import Shift, Trend, TrendRow
from rlregress.model.verdict import CHANGES, REGRESSED
from rlregress.report import words

SCHEMA = 2
COLUMNS = ("judged", "nights", "runs", "level", "changed", "checks", "verdict")
#: quantities of throughput
_MEASURED = {"ratio": "ratio to the floor", "peak_mib": "peak memory in MiB"}


def format_trend_title(trend: Trend) -> str:
    """Return the title: the number of nights and the verdict."""
    begin, end = trend.dates[0][:10], trend.dates[-1][:10]
    return f"Trend of {len(trend.dates)} nights, {begin} to {end}: {trend.verdict}"


def format_date_of_night(trend: Trend, night: int) -> str:
    """Return the day of a night; with the time where another night has the same day."""
    day, around = trend.dates[night][:10], trend.dates[max(0, night - 5) : night + 6]
    alone = sum(night_date[:10] == day for night_date in around) == 1
    return day if alone else trend.dates[night][:16].replace("T", " ")


def describe_change_of_level(row: TrendRow, shift: Shift) -> str:
    """Describe the change of a level; empty without numbers."""
    if shift.share is None:
        return ""
    levels = f"{words.format_return(shift.before)} -> {words.format_return(shift.after)}"
    if row.quantity in _MEASURED:
        return f"{_MEASURED[row.quantity]}: {levels} ({shift.share:+.0%})"
    text = BY_NAME[row.quantity].describe_change(shift.share)
    return text if row.quantity == "critic" else f"{text}: {levels}"


def describe_shift_with_date(trend: Trend, row: TrendRow, shift: Shift) -> str:
    """Describe one change: its name, first night, number of checks, and what else changed then."""
    if shift.is_dated:
        interval = (
            f"{format_date_of_night(trend, shift.earliest)} to "
            f"{format_date_of_night(trend, shift.latest)}"
        )
        since = f"first night {format_date_of_night(trend, shift.night)}"
        since += "" if shift.earliest == shift.latest else f" (95 % interval: {interval})"
        versions = [f"{name} {old} -> {new}" for name, old, new in shift.versions]
        changes = ", ".join([*versions, *shift.conditions])
        changes_text = (
            f"changed there: {changes}" if changes else "nothing that a night records changed there"
        )
    else:
        since, changes_text = "in all checks that could tell", "nothing to compare with"
    count = f"{row.verdicts[row.verdict]} of {sum(row.verdicts.values())} checks {row.verdict}"
    if row.verdict == REGRESSED and row.first is not None:
        count += f", the first of {format_date_of_night(trend, row.first)}"
    parts = [
        part for part in (describe_change_of_level(row, shift), since, changes_text, count) if part
    ]
    return f"{row.verdict:<10} {row.name}: {'; '.join(parts)}"


def describe_all_shifts(trend: Trend) -> list[str]:
    """Return every change in a sentence."""
    return [
        describe_shift_with_date(trend, row, row.shift) for row in trend.shifted_rows if row.shift
    ]


def make_trend_table(trend: Trend) -> list[list[str]]:
    """Return rows for frameworks, cells and trainings; of secondary quantities only changes."""
    rows_shown = [
        row
        for row in trend.rows
        if row.verdict in CHANGES or row.quantity not in ("", "training", "critic")
    ]
    return [_make_row_of_trend(trend, row) for row in (*trend.frameworks, *rows_shown)]


def _make_row_of_trend(trend: Trend, row: TrendRow) -> list[str]:
    checks = ", ".join(f"{count} {verdict}" for verdict, count in sorted(row.verdicts.items()))
    share = "" if not row.shift or row.shift.share is None else f"{row.shift.share:+.0%} "
    return [
        row.name,
        str(len(row.nights) or sum(row.verdicts.values())),
        str(row.runs) if row.runs else "-",
        words.format_return(row.current_level),
        f"{share}{format_date_of_night(trend, row.shift.night)}" if row.shift else "-",
        checks or "-",
        row.verdict,
    ]


CLOSING = (
    "Verdicts are those of the checks, with their error rate. Where one is regressed or improved, "
    "the largest change of the nightly means is dated."
)


def convert_trend_to_plain_data(trend: Trend) -> dict[str, Any]:
    """Return the content of ``trend.json``, without the numbers that the nights hold."""
    content = {"schema": SCHEMA, "verdict": trend.verdict, "exit_code": trend.exit_code}
    rows = {
        name: [
            {
                "name": row.name,
                "quantity": row.quantity,
                "verdict": row.verdict,
                "verdicts": row.verdicts,
                "nights": len(row.nights),
                "runs": row.runs,
                "level": row.current_level,
                "shift": row.shift and asdict(row.shift),
            }
            for row in getattr(trend, name)
        ]
        for name in ("frameworks", "rows")
    }
    return {**content, "dates": trend.dates, "left_out": trend.left_out, **rows}

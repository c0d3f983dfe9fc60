"""``rlregress selftest histories``: verdicts on real releases, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rlregress.report import tables
from rlregress_power.judged_releases import OUTCOMES, JudgedPair


def describe_pair_in_text(row: JudgedPair) -> Iterator[str]:
    """Describe the result for one pair of releases."""
    yield f"{row.before} -> {row.release}: {row.headline} ({row.seconds:.0f} s)"
    for change in row.changes:
        by = f": {change.by}" if change.by else ""
        yield f"  {change.outcome}: {change.id}{by}"


def make_history_table(title: str, published: int, rows: Sequence[JudgedPair]) -> list[str]:
    """Return the table of a framework.

    Args:
        published: number of pairs of neighbouring releases.
        rows: the judged pairs.
    """
    return [
        f"## {title}",
        "",
        f"{len(rows)} of {published} pairs of neighbouring releases judged.",
        "",
        *_make_table_of_outcomes(rows),
        "",
        *(line for row in rows for line in _describe_pair_in_markdown(row)),
        "",
    ]


def _make_table_of_outcomes(rows: Sequence[JudgedPair]) -> list[str]:
    count_text = Counter(change.outcome for row in rows for change in row.changes)
    total = sum(count_text.values())
    if not total:
        return ["No change in scope was judged."]
    text = tables.format_markdown_head("changes in scope", "", "share")
    text += [
        tables.format_markdown_row(name, count_text[name], f"{count_text[name] / total:.0%}")
        for name in OUTCOMES
    ]
    later = sum(change.later for row in rows for change in row.changes)
    if later:
        text += [
            "",
            f"Of those with the cause, {later} were named later, by upgrades with a few scenarios.",
        ]
    healthy = [row for row in rows if row.has_no_known_changes]
    red = [row for row in healthy if row.would_stop_upgrade]
    text += ["", f"Pairs without a known change: {len(healthy)}, called changed: {len(red)}."]
    return text


def _describe_pair_in_markdown(row: JudgedPair) -> Iterator[str]:
    yield f"- {row.before} -> {row.release}: {row.headline} ({row.seconds:.0f} s)"
    for change in row.changes:
        by = f" (`{change.by}`)" if change.by else ""
        yield f"  - {change.outcome}: {change.id}{by}"

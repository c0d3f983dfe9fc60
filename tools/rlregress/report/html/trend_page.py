"""``trend.html``: many nightly runs as a page."""

from __future__ import annotations

import shlex

from rlregress.model.trend_result import Trend, TrendRow
from rlregress.model.verdict import FORMULAS_HOLD, HOLDS, IMPROVED, INCONCLUSIVE, MOVED, REGRESSED
from rlregress.report import words
from rlregress.report.html import figures
from rlregress.report.html.page import (
    Badge,
    Card,
    Figure,
    Heading,
    Page,
    PageInfo,
    Section,
    Step,
    Table,
)
from rlregress.report.trend_text import (
    CLOSING,
    COLUMNS,
    describe_all_shifts,
    format_date_of_night,
    make_trend_table,
)

#: most histories that are drawn; the table has all
_DRAWN = 12
_MEANING = {
    HOLDS: "The last checks found nothing worse than the baseline.",
    FORMULAS_HOLD: "The last checks found every formula as documented; returns were not judged.",
    IMPROVED: "The last checks found something better than the baseline, nothing worse.",
    MOVED: "The last checks found a change that is neither better nor worse.",
    REGRESSED: "Something regressed and did not recover.",
    INCONCLUSIVE: "The last checks cannot tell.",
}


def make_page_of_trend(trend: Trend, facts: PageInfo) -> Page:
    """Return the HTML page that shows how the results of the nightly runs changed over time."""
    histories = Section("all", "All that was judged", "", [Table(COLUMNS, make_trend_table(trend))])
    return Page(
        facts,
        [make_card_of_trend(trend)],
        [_make_changes_section(trend), histories],
        closing=CLOSING,
    )


def make_card_of_trend(trend: Trend) -> Card:
    """Return the card of the first screen."""
    return Card(
        f"{trend.dates[0][:10]} to {trend.dates[-1][:10]}",
        Badge(trend.verdict),
        _MEANING[trend.verdict],
        [f"{sentence[0].upper()}{sentence[1:]}." for sentence in trend.left_out],
        describe_all_shifts(trend),
        [],
        [_suggest_next_step(trend)],
    )


def _suggest_next_step(trend: Trend) -> Step:
    """Return the next step: judge an upgrade that happened when something regressed."""
    regressed = [row.shift for row in trend.shifted_rows if row.shift and row.verdict == REGRESSED]
    for name, old, new in (version for shift in regressed for version in shift.versions):
        command = ["rlregress", "upgrade", f"{name}=={old}", f"{name}=={new}"]
        return Step("See what that version changed:", shlex.join(command))
    if regressed:
        return Step("No package changed in that night: read what else did, and its report.")
    if trend.verdict == INCONCLUSIVE:
        return Step("Read the report of the last check: it names what is missing.")
    return Step("Nothing: go on.")


def _make_changes_section(trend: Trend) -> Section:
    """Return the histories that changed, each drawn."""
    changed = [row for row in trend.shifted_rows if row.nights]
    parts: list[object] = [describe_all_shifts(trend)]
    for row in changed[:_DRAWN]:
        parts += [Heading(row.name), _make_figure_of_history(trend, row)]
    hidden = len(changed) - _DRAWN
    lead = f"{hidden} more histories changed: see the table." if hidden > 0 else ""
    return Section("changes", "What changed", lead, parts)


def _make_figure_of_history(trend: Trend, row: TrendRow) -> Figure:
    shift = row.shift if row.shift and row.shift.share is not None else None
    change = (shift.night, shift.earliest, shift.latest) if shift else None
    means = dict(zip(row.nights, row.means, strict=True))
    days = [date[:10] for date in trend.dates]
    text = f"{row.name} of {len(row.nights)} nights"
    drawn = figures.draw_nightly_means(means, change, days, row.name, text)
    rows = [
        [format_date_of_night(trend, night), words.format_return(mean)]
        for night, mean in means.items()
    ]
    caption = (
        "Each circle is a night; lines are levels; where it changed is upright, its 95 % interval "
        "shaded"
    )
    return Figure(drawn, caption, Table(("night", "mean"), rows, 1))

"""``trend.html``: what changed over many nights, and since when."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import numpy as np

from rlregress.model.trend_result import SMALL, Series, Shift, Trend
from rlregress.model.verdict import HOLDS, IMPROVED, INCONCLUSIVE, REGRESSED
from rlregress.reporting import trend_text, words
from rlregress.reporting.html import figures
from rlregress.reporting.html import page as pages
from rlregress.reporting.html.page import Badge, Card, Facts, Figure, Heading, Section, Step, Table

#: histories that are drawn; the table has them all
_DRAWN = 12
#: points of a history, beyond which neighbouring nights are drawn as their mean
_POINTS = 200
#: sentences of the first screen
_LISTED = 6
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
    return pages.page(facts, [card(trend)], sections, closing=trend_text.error_rate(trend))


def card(trend: Trend) -> Card:
    """The first screen."""
    begin, end = trend.dates[0][:10], trend.dates[-1][:10]
    shifts = trend_text.shifts(trend)
    lines = [trend_text.shift_line(trend, *shift) for shift in shifts]
    rest = [f"and {len(lines) - _LISTED} more, below"] if len(lines) > _LISTED else []
    return Card(
        f"{begin} to {end}",
        Badge(trend.verdict),
        _MEANING[trend.verdict],
        [f"{sentence[0].upper()}{sentence[1:]}." for sentence in trend_text.not_judged(trend)],
        [*lines[:_LISTED], *rest],
        [],
        _steps(shifts),
    )


def _steps(shifts: Sequence[tuple[Series, Shift]]) -> list[Step]:
    """An upgrade gate of the version that changed where the first drop began."""
    for _, shift in shifts:
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
    for series, _ in trend_text.shifts(trend):
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
    head, rows = trend_text.table(trend)
    return Section("all", "All that was judged", "", [Table(head, rows)])

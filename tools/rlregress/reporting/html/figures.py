"""The figures of reports: every run as a point, learning curves, means of nightly runs.

Shapes and words tell sides apart, not colours alone; the table below each figure says the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from rlregress.reporting.html import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: pixels
WIDTH = 360.0
#: markers that tell what would be hidden by another one
_SPREAD = 0.3


@dataclass(frozen=True)
class Strip:
    """Numbers of runs on one line each.

    Attributes:
        stored, new: numbers of the runs; NaN for one without.
        interval: of the new mean, as the verdict has it.
        limit: a new mean below it would have been detected with 80 % power; None: none would.
        band: published mean and half width.
        axis: what the numbers are.
    """

    stored: Sequence[float]
    new: Sequence[float]
    interval: tuple[float, float] | None
    limit: float | None
    band: tuple[float, float] | None
    axis: str


def spread(count: int, at: float) -> np.ndarray:
    """Places of points of one line, so that equal ones are all seen; the same every time."""
    return at + _SPREAD * (np.arange(count) * 0.618 % 1.0 - 0.5) * 2


def strip(given: Strip, name: str, text: str) -> Markup:
    """Every run as a point: stored above, new below, with their means and what is judged."""
    rows = [("stored", given.stored), ("new", given.new)]
    rows = [(label, values) for label, values in rows if len(values)]
    height = 46.0 + 38.0 * len(rows)
    return svg.drawn(
        lambda axes: _strip(axes, given, rows), name, text, WIDTH, height, (66, 10, 36, 8)
    )


def _strip(axes: Axes, given: Strip, rows: Sequence[tuple[str, Sequence[float]]]) -> None:
    if given.band is not None:
        mean, half = given.band
        axes.axvspan(mean - half, mean + half, color=svg.BAND, alpha=0.25, lw=0)
        axes.axvline(mean, color=svg.BAND, lw=1)
    if given.limit is not None:
        axes.axvline(given.limit, color=svg.LIMIT, lw=1.2, ls=(0, (4, 3)))
    for row, (label, values) in enumerate(rows):
        known, of_new = [value for value in values if math.isfinite(value)], label == "new"
        axes.plot(
            known,
            spread(len(known), -row),
            ls="",
            marker="D" if of_new else "o",
            markersize=5 if of_new else 5.5,
            markerfacecolor=svg.NEW if of_new else "none",
            color=svg.NEW if of_new else svg.STORED,
            clip_on=False,
        )
        if known:
            mean = float(np.mean(known))
            axes.plot([mean, mean], [-row - 0.42, -row + 0.42], color=svg.INK, lw=2.2)
        if of_new and given.interval is not None:
            low, high = given.interval
            axes.plot([low, high], [-row, -row], color=svg.INK, lw=1.4, marker="|", markersize=8)
    axes.set_yticks(
        [-row for row in range(len(rows))], [f"{label} ({len(v)})" for label, v in rows]
    )
    axes.set_ylim(-len(rows) + 0.45, 0.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=5)
    axes.margins(x=0.04)
    axes.set_xlabel(given.axis)


@dataclass(frozen=True)
class Course:
    """Learning curves of several runs, at common numbers of steps.

    Attributes:
        steps: environment steps [k].
        low, middle, high: quartiles over runs [k].
    """

    steps: Sequence[float]
    low: Sequence[float]
    middle: Sequence[float]
    high: Sequence[float]


def course(curves: Sequence[Sequence[Sequence[float]]]) -> Course | None:
    """Quartiles of curves of (steps, mean return); None where there are none.

    A number of steps at which fewer than half of the curves have a value is left out.
    """
    known = [{float(at): float(value) for at, value in curve} for curve in curves if curve]
    every = sorted({at for curve in known for at in curve})
    kept = [at for at in every if 2 * sum(at in curve for curve in known) >= len(known)]
    if not kept:
        return None
    quartiles = [np.quantile([c[at] for c in known if at in c], (0.25, 0.5, 0.75)) for at in kept]
    low, middle, high = ([float(value) for value in column] for column in np.transpose(quartiles))
    return Course(kept, low, middle, high)


def learning(
    courses: Mapping[str, Course], band: tuple[float, float] | None, name: str, label: str
) -> Markup:
    """Learning curves of the training episodes: medians, with half of the runs around them.

    Args:
        courses: ``stored`` and ``new``, as far as there are curves.
        band: published mean and half width of the end.
    """
    return svg.drawn(
        lambda axes: _learning(axes, courses, band), name, label, WIDTH, 180.0, (56, 10, 36, 8)
    )


def _learning(axes: Axes, courses: Mapping[str, Course], band: tuple[float, float] | None) -> None:
    if band is not None:
        mean, half = band
        axes.axhspan(mean - half, mean + half, color=svg.BAND, alpha=0.25, lw=0)
    for label, course_ in courses.items():
        of_new = label == "new"
        colour = svg.NEW if of_new else svg.STORED
        axes.fill_between(course_.steps, course_.low, course_.high, color=colour, alpha=0.18, lw=0)
        axes.plot(
            course_.steps,
            course_.middle,
            color=colour,
            lw=1.8,
            ls="-" if of_new else "--",
            marker="D" if of_new else "o",
            markersize=3.6,
            markevery=4,
            markerfacecolor=colour if of_new else "none",
            label=label,
        )
    axes.legend(loc="best", fontsize=9)
    axes.set_xlabel("environment steps")
    axes.set_ylabel("training return")
    axes.locator_params(nbins=5)
    axes.margins(x=0.02)


@dataclass(frozen=True)
class Nights:
    """A history over nights.

    Attributes:
        nights, values: number and mean of every night [T].
        change: first night of the new level, and the ends of its interval; None: there is none.
        dates: of the nights, by number.
    """

    nights: Sequence[int]
    values: Sequence[float]
    change: tuple[int, int, int] | None
    dates: Sequence[str]


def nights(given: Nights, name: str, label: str) -> Markup:
    """Draw nightly means, the levels before and after a change, and the interval of its date."""
    return svg.drawn(lambda axes: _nights(axes, given), name, label, WIDTH, 170.0, (50, 30, 26, 8))


def _nights(axes: Axes, given: Nights) -> None:
    axes.plot(given.nights, given.values, ls="", marker="o", markersize=3, color=svg.STORED,
              markerfacecolor="none")  # fmt: skip
    first, earliest, latest = given.change or (given.nights[0],) * 3
    numbers, values = np.asarray(given.nights), np.asarray(given.values)
    for level in (numbers < first, numbers >= first):
        if level.any():
            mean = float(values[level].mean())
            axes.plot(numbers[level][[0, -1]], [mean, mean], color=svg.INK, lw=2)
    if given.change:
        axes.axvspan(earliest - 0.5, latest + 0.5, color=svg.LIMIT, alpha=0.2, lw=0)
        axes.axvline(first, color=svg.LIMIT, lw=1.2, ls=(0, (4, 3)))
    ticks = sorted({int(n) for n in np.linspace(given.nights[0], given.nights[-1], 4)})
    axes.set_xticks(ticks, [given.dates[n] for n in ticks])
    axes.locator_params(axis="y", nbins=5)
    axes.margins(x=0.02)

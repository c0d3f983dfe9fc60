"""The figures of reports: runs as points, learning curves, means of nightly runs.

Stored and new runs differ in shapes and words as well as colours. A table below each figure has the
same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from rlregress.report.html import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: height of the points around their line, so that none hides another
_SPREAD = 0.3


@dataclass(frozen=True)
class RunPoints:
    """The numbers of stored and new runs, drawn as one line of points each.

    Attributes:
        stored, new: numbers of the runs; NaN for a run without one.
        interval: interval of the new mean, as in the verdict.
        limit: a true mean below it would be detected with 80 % power; None: no mean would.
        band: published mean and half width.
        axis: title of the axis.
    """

    stored: Sequence[float]
    new: Sequence[float]
    interval: tuple[float, float] | None
    limit: float | None
    band: tuple[float, float] | None
    axis: str


def spread_overlapping_points(count: int, position: float) -> np.ndarray:
    """Spread points around a line so that equal ones stay visible; always the same way."""
    return position + _SPREAD * (np.arange(count) * 0.618 % 1.0 - 0.5) * 2


def draw_runs_as_points(run_points: RunPoints, name: str, description: str) -> Markup:
    """Draw every run as a point: stored above, new below, with means and judged range."""
    rows = [("stored", run_points.stored), ("new", run_points.new)]
    rows = [(label, values) for label, values in rows if len(values)]
    height = 46.0 + 38.0 * len(rows)

    def plot(axes: Axes) -> None:
        if run_points.band is not None:
            mean, half = run_points.band
            axes.axvspan(mean - half, mean + half, color=svg.BAND, alpha=0.25, lw=0)
            axes.axvline(mean, color=svg.BAND, lw=1)
        if run_points.limit is not None:
            axes.axvline(run_points.limit, color=svg.LIMIT, lw=1.2, ls=(0, (4, 3)))
        for row, (label, values) in enumerate(rows):
            finite, is_new = [value for value in values if math.isfinite(value)], label == "new"
            axes.plot(
                finite,
                spread_overlapping_points(len(finite), -row),
                ls="",
                marker="D" if is_new else "o",
                markersize=5 if is_new else 5.5,
                markerfacecolor=svg.NEW if is_new else "none",
                color=svg.NEW if is_new else svg.STORED,
                clip_on=False,
            )
            if finite:
                mean = float(np.mean(finite))
                axes.plot([mean, mean], [-row - 0.42, -row + 0.42], color=svg.INK, lw=2.2)
            if is_new and run_points.interval is not None:
                low, high = run_points.interval
                axes.plot(
                    [low, high], [-row, -row], color=svg.INK, lw=1.4, marker="|", markersize=8
                )
        axes.set_yticks(
            [-row for row in range(len(rows))], [f"{label} ({len(v)})" for label, v in rows]
        )
        axes.set_ylim(-len(rows) + 0.45, 0.55)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.locator_params(axis="x", nbins=5)
        axes.margins(x=0.04)
        axes.set_xlabel(run_points.axis)

    return svg.draw_svg(plot, name, description, height, (66, 10, 36, 8))


#: environment steps -> quartiles over runs
QuartileCurve = Mapping[float, tuple[float, float, float]]


def compute_quartile_curve(curves: Sequence[Sequence[Sequence[float]]]) -> QuartileCurve:
    """Return the quartiles of curves of (steps, mean return).

    A number of steps at which fewer than half of the curves have a value is left out.
    """
    curves_by_step = [{float(at): float(value) for at, value in curve} for curve in curves if curve]
    values = {
        at: [curve[at] for curve in curves_by_step if at in curve]
        for at in sorted({at for curve in curves_by_step for at in curve})
    }
    return {
        at: tuple(np.quantile(values_at_step, (0.25, 0.5, 0.75)).tolist())
        for at, values_at_step in values.items()
        if 2 * len(values_at_step) >= len(curves_by_step)
    }


def draw_learning_curves(
    courses: Mapping[str, QuartileCurve], band: tuple[float, float] | None, name: str, label: str
) -> Markup:
    """Draw learning curves of training episodes: medians, with half of the runs around them.

    Args:
        courses: ``stored`` and ``new``, without those that have no curves.
        band: published mean and half width at the end of the training.
    """

    def plot(axes: Axes) -> None:
        if band is not None:
            mean, half = band
            axes.axhspan(mean - half, mean + half, color=svg.BAND, alpha=0.25, lw=0)
        for label, quartiles in courses.items():
            is_new = label == "new"
            colour = svg.NEW if is_new else svg.STORED
            low, middle, high = zip(*quartiles.values(), strict=True)
            axes.fill_between(list(quartiles), low, high, color=colour, alpha=0.18, lw=0)
            axes.plot(
                list(quartiles),
                middle,
                color=colour,
                lw=1.8,
                ls="-" if is_new else "--",
                marker="D" if is_new else "o",
                markersize=3.6,
                markevery=4,
                markerfacecolor=colour if is_new else "none",
                label=label,
            )
        axes.legend(loc="best", fontsize=9)
        axes.set_xlabel("environment steps")
        axes.set_ylabel("training return")
        axes.locator_params(nbins=5)
        axes.margins(x=0.02)

    return svg.draw_svg(plot, name, label, 180.0, (56, 10, 36, 8))


def draw_nightly_means(
    means: Mapping[int, float],
    change: tuple[int, int, int] | None,
    dates: Sequence[str],
    name: str,
    label: str,
) -> Markup:
    """Draw nightly means, the levels before and after a change, and the interval of its date.

    Args:
        means: number of a night -> mean.
        change: first night of the new level, and the ends of its interval; None: there is none.
        dates: of the nights, by number.
    """

    def plot(axes: Axes) -> None:
        numbers, values = np.asarray(list(means)), np.asarray(list(means.values()))
        axes.plot(numbers, values, ls="", marker="o", markersize=3, color=svg.STORED,
                  markerfacecolor="none")  # fmt: skip
        first, earliest, latest = change or (numbers[0],) * 3
        for level in (numbers < first, numbers >= first):
            if level.any():
                mean = float(values[level].mean())
                axes.plot(numbers[level][[0, -1]], [mean, mean], color=svg.INK, lw=2)
        if change:
            axes.axvspan(earliest - 0.5, latest + 0.5, color=svg.LIMIT, alpha=0.2, lw=0)
            axes.axvline(first, color=svg.LIMIT, lw=1.2, ls=(0, (4, 3)))
        ticks = sorted({int(n) for n in np.linspace(numbers[0], numbers[-1], 4)})
        axes.set_xticks(ticks, [dates[n] for n in ticks])
        axes.locator_params(axis="y", nbins=5)
        axes.margins(x=0.02)

    return svg.draw_svg(plot, name, label, 170.0, (50, 30, 26, 8))

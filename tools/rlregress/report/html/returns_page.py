"""Returns on a page: a row for each verdict, and each cell with its runs as points."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

from rlregress.model.cells import CellRuns, ReportedRun
from rlregress.model.quantities import (
    CRITIC,
    RETURNS,
    SECONDARY,
    TRAINING,
    Quantity,
    get_quantity_of_verdict_name,
)
from rlregress.model.verdict import HOLDS, INCONCLUSIVE
from rlregress.report import descriptive_text, words
from rlregress.report.html import figures
from rlregress.report.html.figures import QuartileCurve, RunPoints
from rlregress.report.html.page import Badge, Figure, Finding, Folded, Grid, Section, Table

Verdicts = Mapping[str, Mapping[str, Any]]

_AXES = {
    RETURNS.name: "return of the evaluation after training",
    TRAINING.name: "return of the training's last third",
    CRITIC.name: "critic: minus the logarithm of its error",
}
_LEGEND = (
    "Each point is one run. Circles are stored runs, diamonds new ones; an upright line is a "
    "mean, and the bar through the new ones the 95 % interval of theirs. The dashed line is "
    "the drop that would have been detected with 80 % power: a true mean to the left of it."
)
#: options that a command for one cell does not need
_OF_SEVERAL = ("--cells", "--framework", "--algorithm", "--environment")


def restrict_command_to_cell(command: str, cell: str) -> str:
    """Return the command of a session, restricted to one cell with stored runs."""
    shortened = remove_options_from_command(command, *_OF_SEVERAL)
    return f"{shortened} {shlex.join(['--cells', cell])}" if shortened else ""


def remove_options_from_command(command: str, *options: str) -> str:
    """Return a command without some options and their values."""
    parts = iter(shlex.split(command))
    return shlex.join([part for part in parts if not (part in options and next(parts, ""))])


def make_sort_key_of_verdict(verdict_name: str, verdict: Mapping[str, Any]) -> tuple[int, str]:
    """Return a sort key: changes first, then inconclusive verdicts."""
    word = verdict["verdict"]
    return (2 if word == HOLDS else 1 if word == INCONCLUSIVE else 0), verdict_name


def make_table_of_verdicts(verdicts: Verdicts) -> Table:
    """Build one row for each verdict of a cell, a group or a secondary quantity."""
    named = sorted(verdicts.items(), key=lambda item: make_sort_key_of_verdict(*item))
    rows = []
    for name, verdict in named:
        effect = words.describe_effect(verdict)
        rows.append(
            [
                Badge(verdict["verdict"]),
                name,
                effect.stored,
                effect.new,
                effect.change,
                effect.interval or "-",
                words.format_number_of_runs(verdict),
                words.format_adjusted_p(verdict),
                _describe_detectable_change(name, verdict),
            ]
        )
    head = (
        "verdict", "of", "stored", "new", "change", "95 % interval", "runs", "adjusted p",
        "would detect",
    )  # fmt: skip
    return Table(head, rows, 7)


def _describe_detectable_change(verdict_name: str, verdict: Mapping[str, Any]) -> str:
    if "visible_fraction" not in verdict:
        detectable = verdict["visible_drop"]
        return "no drop" if detectable is None else f"a drop of {words.format_return(detectable)}"
    detectable = verdict["visible_fraction"]
    return (
        "nothing"
        if detectable is None
        else get_quantity_of_verdict_name(verdict_name).describe_loss(detectable)
    )


def make_returns_section(
    id: str, title: str, verdicts: Verdicts, runs: Mapping[str, CellRuns], command: str
) -> Section:
    """Build the table of verdicts, then every cell with its runs, changed ones first."""
    cells = [name for name in runs if name in verdicts or runs[name].new]
    cells.sort(
        key=lambda name: min(
            (make_sort_key_of_verdict(*v) for v in _select_cell_verdicts(name, verdicts)),
            default=(3, name),
        )
    )
    views = [make_finding_of_cell(name, verdicts, runs[name], command) for name in cells]
    quiet = {
        name: verdict
        for name, verdict in verdicts.items()
        if _is_secondary_without_change(name, verdict)
    }
    verdicts_of_groups = {name: verdict for name, verdict in verdicts.items() if name not in quiet}
    title_ = f"{len(quiet)} verdicts on critics and what is logged that show no change"
    stored = any(words.is_from_stored_runs(verdict) for verdict in verdicts.values())
    parts = [
        make_table_of_verdicts(verdicts_of_groups),
        [
            f"{name}: {verdict['reason']}"
            for name, verdict in verdicts_of_groups.items()
            if "cells" in verdict
        ],
        Folded(title_, [make_table_of_verdicts(quiet)]),
        Folded("How to read these verdicts", [words.LEGEND] if stored else []),
        Grid(views, _LEGEND),
    ]
    return Section(id, title, "", parts)


def _is_secondary_without_change(verdict_name: str, verdict: Mapping[str, Any]) -> bool:
    """Return whether a secondary quantity shows no change."""
    is_secondary = get_quantity_of_verdict_name(verdict_name) not in (RETURNS, TRAINING)
    return is_secondary and verdict["verdict"] in (HOLDS, INCONCLUSIVE)


def _select_cell_verdicts(cell: str, verdicts: Verdicts) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the verdicts on a cell, that on its returns first."""
    names = [cell, *(quantity.make_verdict_name(cell) for quantity in SECONDARY)]
    return [(name, verdicts[name]) for name in names if name in verdicts]


def make_finding_of_cell(cell: str, verdicts: Verdicts, runs: CellRuns, command: str) -> Finding:
    """Build the view of one cell: its verdicts, its points, its learning curves."""
    own = _select_cell_verdicts(cell, verdicts)
    word = (
        min((verdict for verdict in own), key=lambda v: make_sort_key_of_verdict(*v))[1]["verdict"]
        if own
        else ""
    )
    badge = Badge(word) if word else Badge("not judged", "nothing")
    lines = []
    for verdict_name, verdict in own:
        lines.append(
            f"{_name_subject_of_verdict(verdict_name, cell)}: {verdict['verdict']}. "
            f"{verdict['reason']}"
        )
        lines += descriptive_text.describe_distribution(verdict_name, verdict, runs)
    lines += [
        f"Seed {run.seed} failed: {_get_last_line(run.failure)}" for run in runs.new if run.failure
    ]
    command = restrict_command_to_cell(command, cell) if runs.stored else command
    drawings = []
    for verdict_name, verdict in own:
        quantity = get_quantity_of_verdict_name(verdict_name)
        if quantity in (RETURNS, TRAINING) or verdict["verdict"] not in (HOLDS, INCONCLUSIVE):
            drawings.append(_make_point_figure_of_runs(cell, quantity, verdict, runs, command))
    if not own:
        drawings.append(_make_point_figure_of_runs(cell, RETURNS, None, runs, command))
    curves = _make_figure_of_learning_curves(cell, runs, command)
    return Finding(cell, badge, lines, (), [*drawings, curves])


def _name_subject_of_verdict(verdict_name: str, cell: str) -> str:
    return verdict_name.removeprefix(cell).strip() or RETURNS.name


def _get_last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "without a message"


def _make_point_figure_of_runs(
    cell: str, quantity: Quantity, verdict: Mapping[str, Any] | None, runs: CellRuns, command: str
) -> Figure:
    # by seed; runs after the deciding look do not count for the verdict
    judged = runs.new[: verdict["new_seeds"]] if verdict is not None else runs.new
    stored, new = (
        [_get_number_or_nan(run, quantity) for run in group] for group in (runs.stored, judged)
    )
    band, interval, limit = None, None, None
    mean = None if verdict is None else verdict.get("stored_mean")
    if runs.band is not None and quantity is RETURNS:
        band, mean = (runs.band.mean, runs.band.half), runs.band.mean
    if verdict is not None and mean is not None:
        bounds, detectable = verdict["interval"], verdict.get("visible_drop")
        interval = None if not bounds or None in bounds else (mean + bounds[0], mean + bounds[1])
        limit = None if detectable is None or quantity.two_sided else mean - detectable
    axis = _AXES.get(quantity.name, quantity.name)
    text = f"{axis}: {len(stored)} stored and {len(new)} new runs of {cell}"
    caption = axis[0].upper() + axis[1:]
    if band is not None:
        caption += f"; shaded: published, {band[0]:g} ± {band[1]:g}"
    if limit is not None:
        caption += f"; dashed: {words.format_return(limit)}, the drop that would have been detected"
    if later := len(runs.new) - len(judged):
        caption += f"; {later} later runs do not count for the verdict"
    if loss := sum(math.isnan(value) for value in [*stored, *new]):
        caption += f"; {loss} without a number are not drawn"
    drawings = figures.draw_runs_as_points(
        RunPoints(stored, new, interval, limit, band, axis),
        f"{cell} {quantity.name}",
        text,
    )
    rows = [
        [origin, run.seed, words.format_return(value) if math.isfinite(value) else "none"]
        for origin, group, values in (("stored", runs.stored, stored), ("new", judged, new))
        for run, value in zip(group, values, strict=True)
    ]
    return Figure(drawings, caption, Table(("run", "seed", axis), rows, 2), command)


def _get_number_or_nan(run: ReportedRun, quantity: Quantity) -> float:
    value = run.numbers.get(quantity.name, math.nan)
    return math.nan if value is None else float(value)


def _make_figure_of_learning_curves(cell_name: str, runs: CellRuns, command: str) -> Figure | None:
    groups = {"stored": runs.stored, "new": runs.new}
    courses = {
        label: figures.compute_quartile_curve([run.curve for run in item])
        for label, item in groups.items()
    }
    courses = {label: course for label, course in courses.items() if course}
    if not courses:
        return None
    band = (runs.band.mean, runs.band.half) if runs.band is not None else None
    text = f"learning curves of {cell_name}: {' and '.join(courses)} runs"
    caption = "Learning curves of the training episodes: medians, and half of the runs around them"
    if band is not None:
        caption += "; shaded: the published mean at the end"
    all_steps = sorted({steps for course in courses.values() for steps in course})
    rows = [
        [
            f"{steps:g}",
            *(
                cell
                for course in courses.values()
                for cell in _format_quartiles_at_steps(course, steps)
            ),
        ]
        for steps in all_steps
    ]
    head = ["steps"] + [f"{label}, {item}" for label in courses for item in ("median", "quartiles")]
    drawings = figures.draw_learning_curves(courses, band, f"{cell_name} curve", text)
    return Figure(drawings, caption, Table(head, rows, len(head)), command)


def _format_quartiles_at_steps(curve: QuartileCurve, steps: float) -> list[str]:
    if steps not in curve:
        return ["-", "-"]
    low, middle, high = map(words.format_return, curve[steps])
    return [middle, f"{low} to {high}"]

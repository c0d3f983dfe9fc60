"""Confirms an alarm: the old version is trained again before the new one is reported as worse.

The stored runs that raised the alarm are one sample of the old code, made at one time on one
machine; an unlucky sample raises an alarm every night. So the cells that got worse are trained on
the old version, too, with fresh seeds. The alarm is confirmed only if the new version is worse than
these runs as well. The effect of the stored runs is the difference between them and the
old version's fresh ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from rlregress.check import baseline_runs
from rlregress.check.judging import find_worst_return_by_environment
from rlregress.model.quantities import CRITIC, compute_returns_scale, get_quantity_of_verdict_name
from rlregress.model.upgrade_result import ReturnsVerdict
from rlregress.model.verdict import INCONCLUSIVE, REGRESSED
from rlregress.training.cell import Cell
from rlregress.verdicts.looks import make_single_look
from rlregress.verdicts.rules import CellSample, Rules
from rlregress.verdicts.sequential import judge_cells_and_groups

#: seed of the old version's first fresh run; no stored run and no run of the new version has it
FIRST_FRESH_SEED = 2000


def list_alarmed_cells(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of cells that got worse in some quantity, alone or with their group."""
    fallen = [entry for entry in entries if entry.get("verdict", {}).get("verdict") == REGRESSED]
    cells_of_groups = [entry["verdict"]["cells"] for entry in fallen if "cells" in entry["verdict"]]
    names = [name for cells in cells_of_groups for name in cells]
    alone = [entry for entry in fallen if "cells" not in entry["verdict"]]
    kinds = ("cell", "training", "critic")
    names += [entry[kind] for entry in alone for kind in kinds if kind in entry]
    return sorted(set(names))


def collect_judged_numbers(entries: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Return the judged number of each run of a cell, in the order of seeds.

    Args:
        name: of a cell's verdict on one quantity; see ``Quantity.make_verdict_name``.

    Returns:
        Numbers of ``baseline_runs.read_judged_numbers``, nan for a run that has none.
    """
    quantity = get_quantity_of_verdict_name(name)
    records = [entry["record"] for entry in entries if "record" in entry]
    own = [record for record in records if quantity.make_verdict_name(record["cell"]) == name]
    own.sort(key=lambda record: record["seed"])
    return [baseline_runs.read_judged_numbers(record)[quantity] for record in own]


def confirm_against_old_runs(
    cells: Mapping[str, Cell],
    old: Mapping[str, Sequence[float]],
    new: Mapping[str, Sequence[float]],
    alpha: float,
) -> ReturnsVerdict:
    """Judge the new version against the old version's fresh runs.

    Args:
        cells: names of the verdicts that got worse; see ``list_alarmed_cells``.
        old: the judged numbers of the old version's fresh runs, at least one for each cell; see
            ``collect_judged_numbers``.
        new: the judged numbers of the new version's runs that raised the alarm.
        alpha: probability of confirming any of them if the new version is as good.

    Returns:
        ``regressed`` where the new version is worse than them, too, else ``inconclusive``; a
        sentence for each cell.
    """
    worst = find_worst_return_by_environment()
    samples, lines = {}, []
    for name, cell in cells.items():
        quantity, fallen = get_quantity_of_verdict_name(name), worst.get(cell.environment)
        group = quantity.make_verdict_name(cell.group)
        samples[name] = CellSample(old[name], new[name], 0, group, fallen, quantity)
        stored = baseline_runs.load_baseline(baseline_runs.locate_baseline(cell))
        runs = stored.list_values_of_quantity(quantity)
        lines.append(_describe_confirmed_cell(name, runs, old[name], new[name]))
    # all alarmed cells are tested together, with as many runs as the cell with the fewest has
    most = make_single_look(min(len(new[name]) for name in cells))
    verdicts = judge_cells_and_groups(samples, most, Rules(alpha=alpha))
    words = [judged.verdict for judged in verdicts.cells.values()]
    words += [judged.verdict for judged in verdicts.groups.values()]
    if REGRESSED in words:
        verdict = REGRESSED
        first = "confirmed: the new version is worse than the old version trained again"
    else:
        verdict = INCONCLUSIVE
        first = (
            "not confirmed: the new version is not shown to be worse than the old version trained "
            "again; the stored runs may be old or lucky"
        )
    return ReturnsVerdict(verdict=verdict, lines=(f"{first} (alpha {alpha:g})", *lines))


def _describe_confirmed_cell(
    name: str, stored: Sequence[float], old: Sequence[float], new: Sequence[float]
) -> str:
    quantity = get_quantity_of_verdict_name(name)
    # a run without a number is judged, see CellSample, and not described
    finite = [[n for n in numbers if math.isfinite(n)] for numbers in (stored, old, new)]
    if not finite[2]:
        return f"{name}: the runs of the new version {quantity.missing}"
    means, counts = [fmean(numbers) for numbers in finite], [len(numbers) for numbers in finite]
    if quantity is CRITIC:
        errors = [math.exp(-mean) for mean in means]
        return (
            f"{name}: error stored {errors[0]:.3g} ({counts[0]} runs), the old version again "
            f"{errors[1]:.3g} ({counts[1]}), the new version {errors[2]:.3g} ({counts[2]}): age "
            f"and luck of the stored runs x{errors[1] / errors[0]:.2f}, the upgrade "
            f"x{errors[2] / errors[1]:.2f}"
        )
    scale = compute_returns_scale(finite[0])
    stored_change, version_change = (means[1] - means[0]) / scale, (means[2] - means[1]) / scale
    return (
        f"{name}: stored {means[0]:.4g} ({counts[0]} runs), the old version again {means[1]:.4g} "
        f"({counts[1]}), the new version {means[2]:.4g} ({counts[2]}): age and luck of the "
        f"stored runs {stored_change:+.0%}, the upgrade {version_change:+.0%}"
    )

"""The return gate on the new version, for algorithms whose traces diverge; alarms are confirmed.

The stored runs that raise an alarm are one sample of the old code, made at one time on one machine;
an unlucky sample raises an alarm every night. So the cells that got worse are trained on the old
version, too, with fresh seeds. The alarm is confirmed only if the new version is worse than these
runs as well. The effect of the stored runs is the difference between them and the old version's
fresh ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from rlregress import files
from rlregress.check import baseline_runs, check_run, outcome, report_data
from rlregress.check.judging import find_worst_return_by_environment
from rlregress.check_options import CheckOptions
from rlregress.frameworks.base import Adapter
from rlregress.model.quantities import (
    CRITIC,
    ONE_SIDED,
    RETURNS,
    compute_returns_scale,
    get_quantity_of_verdict_name,
)
from rlregress.model.upgrade_result import ReturnsVerdict
from rlregress.model.verdict import COULD_NOT_JUDGE, INCONCLUSIVE, REGRESSED
from rlregress.trace.child_processes import extract_last_message
from rlregress.trace.recording_processes import Runtime
from rlregress.training.cell import Cell
from rlregress.verdicts.looks import make_single_look
from rlregress.verdicts.rules import CellSample, Rules
from rlregress.verdicts.sequential import judge_cells_and_groups

#: seed of the old version's first fresh run; no stored run and no run of the new version has it
FIRST_FRESH_SEED = 2000


def find_algorithms_with_stored_runs(adapter: Adapter) -> set[str]:
    """Find the algorithms of a framework whose returns can be judged by stored runs."""
    return {
        baseline.cell.algorithm
        for baseline in baseline_runs.load_all_baselines()
        if baseline.cell.framework == adapter.name and baseline.cell.budget == "short"
    }


def train_and_judge(
    adapter: Adapter,
    algorithms: Sequence[str],
    runtimes: tuple[Runtime, Runtime],
    options: CheckOptions,
    log: Callable[[str], None],
) -> ReturnsVerdict | None:
    """Train the diverged algorithms on the new version and judge their returns by the stored runs.

    Cells that got worse are trained on the old version again, with fresh seeds, to confirm it.

    Args:
        options: of the session (report, looks, processes); this function sets what is trained.

    Returns:
        None if none of the algorithms has stored runs.
    """
    stored_algorithms = find_algorithms_with_stored_runs(adapter)
    trained = [name for name in algorithms if name in stored_algorithms]
    if not trained:
        return None
    report = options.report
    options = replace(
        options, report=files.resolve_real_path(report), frameworks=adapter.name,
        algorithms=",".join(trained), cells="all",
        # stored runs may be of neither version, whose trainings are known to differ
        fresh_seeds=True,
    )  # fmt: skip
    entries = check_run.run_tests_of_returns(
        runtimes[1].python, options, runtimes[1].make_environment_variables()
    )
    if isinstance(entries, str):
        return ReturnsVerdict(verdict=COULD_NOT_JUDGE, lines=(entries,), report=report)
    verdict = judge_returns_by_evidence(adapter.name, entries, trained, report)
    if verdict.verdict != REGRESSED or not list_alarmed_cells(entries):
        return verdict
    return confirm_alarm_by_old_runs(verdict, entries, runtimes[0], options, log)


def confirm_alarm_by_old_runs(
    alarm: ReturnsVerdict,
    entries: Sequence[Mapping[str, Any]],
    runtime: Runtime,
    options: CheckOptions,
    log: Callable[[str], None],
) -> ReturnsVerdict:
    """Confirm an alarm: train the old version again, with fresh seeds.

    Args:
        alarm: the verdict on the trainings of the new version.
        entries: the evidence of those trainings.
        runtime: the old version.
        options: of the session on the new version.

    Returns:
        ``regressed`` if the new version is worse than the old version's fresh runs; otherwise
        ``inconclusive``, also where the old version cannot be trained again. The first line
        explains the verdict.
    """
    names = list_alarmed_cells(entries)
    log(
        f"{options.frameworks}: training the old version again with fresh seeds, as "
        f"{', '.join(names)} fell"
    )
    new = {name: collect_judged_numbers(entries, name) for name in names}
    by_name = {
        quantity.make_verdict_name(baseline.cell.id): baseline.cell
        for quantity in ONE_SIDED
        for baseline in baseline_runs.load_all_baselines()
    }
    cells = {name: by_name[name] for name in names}
    fresh = _train_old_again(runtime, cells.values(), min(map(len, new.values())), options)
    if isinstance(fresh, str):
        line = (
            "inconclusive: the alarm could not be confirmed, as the old version could not be "
            f"trained again: {fresh}"
        )
        return replace(alarm, verdict=INCONCLUSIVE, lines=(line, *alarm.lines))
    old = {name: collect_judged_numbers(fresh, name) for name in names}
    # runs that trained, but lack the number to judge beside their returns
    without = [name for name in names if all(map(math.isnan, old[name]))]
    line = (
        f"the alarm on {', '.join(without)} could not be confirmed: the old version's runs "
        f"{get_quantity_of_verdict_name(without[0]).missing if without else ''}"
    )
    if without == names:
        return replace(alarm, verdict=INCONCLUSIVE, lines=(f"inconclusive: {line}", *alarm.lines))
    judged = {name: cell for name, cell in cells.items() if name not in without}
    confirmed = confirm_against_old_runs(judged, old, new, options.alpha)
    lines = (*confirmed.lines, *([line] if without else []), *alarm.lines)
    return replace(alarm, verdict=confirmed.verdict, lines=lines)


def _train_old_again(
    runtime: Runtime, cells: Iterable[Cell], seeds: int, options: CheckOptions
) -> list[dict[str, Any]] | str:
    """Return the evidence of fresh runs of the old version, or why there is none."""
    ids = sorted({cell.id for cell in cells})
    fresh_options = replace(
        options,
        report=options.report / "again",
        cells=",".join(ids),
        seeds=seeds,
        first_seed=FIRST_FRESH_SEED,
    )
    fresh = check_run.run_tests_of_returns(
        runtime.python, fresh_options, runtime.make_environment_variables()
    )
    return fresh if isinstance(fresh, str) else _explain_why_old_runs_unusable(fresh, ids) or fresh


def _explain_why_old_runs_unusable(fresh: list[dict[str, Any]], cells: Sequence[str]) -> str:
    """Explain why the old version's fresh runs cannot be used for comparison; empty if they can."""
    if broken := outcome.find_broken_tests(fresh):
        return str(broken[0]["message"]).splitlines()[0]
    empty = [n for n in cells if all(map(math.isnan, collect_judged_numbers(fresh, n)))]
    if not empty:
        return ""
    records = [entry["record"] for entry in fresh if "record" in entry]
    failures = [record["failure"] for record in records if record["cell"] == empty[0]]
    if not failures:
        return f"there is no run of {empty[0]}"
    last = extract_last_message(failures[-1])
    return f"all {len(failures)} runs of {empty[0]} failed; the last: {last}"


def list_alarmed_cells(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of cells that got worse in some quantity, alone or with their group."""
    names: set[str] = set()
    for entry in entries:
        judged = entry.get("verdict", {})
        if judged.get("verdict") == REGRESSED:
            alone = [entry[kind] for kind in ("cell", "training", "critic") if kind in entry]
            names.update(judged.get("cells", alone))
    return sorted(names)


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


def judge_returns_by_evidence(
    framework: str, entries: list[dict[str, Any]], algorithms: Sequence[str], report: Path
) -> ReturnsVerdict:
    """Return the verdict on returns from the evidence of the tests."""
    words = [str(entry["message"]).splitlines()[0] for entry in outcome.find_broken_tests(entries)]
    judged = None
    if not words:
        outcomes = outcome.build_framework_outcomes(entries)
        judged = next((own for own in outcomes if own.framework == framework), None)
    if judged is None or not judged.verdicts:
        words = words or [f"no verdict on {', '.join(algorithms)}"]
        return ReturnsVerdict(
            verdict=COULD_NOT_JUDGE, lines=tuple(dict.fromkeys(words)), report=report
        )
    return ReturnsVerdict(
        verdict=judged.verdict,
        lines=tuple(_format_verdict_of_cell(*row) for row in judged.verdicts.items()),
        report=report,
        verdicts=judged.verdicts,
        runs=report_data.collect_runs_by_cell(entries),
    )


def _format_verdict_of_cell(name: str, verdict: Mapping[str, Any]) -> str:
    quantity = get_quantity_of_verdict_name(name)
    fraction = verdict.get("effect_fraction")
    effect = ""
    if fraction is not None:
        share = f"{fraction:+.0%} of the stored returns' scale"
        effect = f", {share if quantity is RETURNS else quantity.describe_change(fraction)}"
    detectable = verdict["visible_fraction"]
    detects = quantity.describe_nothing_detectable()
    if detectable is not None:
        detects = f"would detect {quantity.describe_loss(detectable)} with 80 % power"
    return f"{name}: {verdict['verdict']}{effect}; {verdict['new_seeds']} new runs; {detects}"

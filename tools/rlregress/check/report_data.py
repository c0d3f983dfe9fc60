"""Collects report data besides the verdicts: the runs behind them, and undocumented behaviour."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rlregress.catalogue import registry
from rlregress.catalogue.implementation import list_implementations
from rlregress.check import baseline_runs, source_diff, source_links
from rlregress.check.baseline_runs import FINISHED
from rlregress.faults import places
from rlregress.frameworks.base import Adapter
from rlregress.inside import identity
from rlregress.inside.machine import format_machine_in_words as machine_text
from rlregress.inside.machine import read_cpu_name
from rlregress.model.cells import Band, CellRuns, ReportedRun
from rlregress.model.check_result import AlgorithmCoverage, Deviation
from rlregress.model.code import Hunk
from rlregress.model.quantities import RETURNS, SECONDARY
from rlregress.training.cell import Cell

#: shown files of a changed copy; context lines around the line that decides a detail
_FILES, _CONTEXT = 6, 3


def collect_runs_by_cell(
    entries: Sequence[Mapping[str, Any]], bands: Mapping[str, Band] | None = None
) -> dict[str, CellRuns]:
    """Return cell id -> its runs, for every cell that tests trained or judged.

    Args:
        entries: the entries of the evidence.
        bands: id of a cell -> the published band that judges it.
    """
    new: dict[str, list[ReportedRun]] = {e["cell"]: [] for e in entries if "cell" in e}
    for entry in entries:
        if "record" in entry:
            new[entry["cell"]].append(_build_reported_new_run(entry["record"]))
    stored_by_id = {stored.cell.id: stored for stored in baseline_runs.load_all_baselines()}
    by_cell = {}
    for name, cell_runs in sorted(new.items()):
        ordered = tuple(sorted(cell_runs, key=lambda run: run.seed))
        band = (bands or {}).get(name)
        stored = stored_by_id.get(name)
        if stored is None or band is not None:
            by_cell[name] = CellRuns(stored=(), new=ordered, band=band)
            continue
        by_cell[name] = CellRuns(
            stored=tuple(map(_build_reported_stored_run, stored.runs)),
            new=ordered,
            band=None,
            versions=stored.versions,
            machine=machine_text(stored.platform, ("cpu", "python")),
        )
    return by_cell


def _build_reported_new_run(record: Mapping[str, Any]) -> ReportedRun:
    numbers = {
        quantity.name: value
        for quantity, value in baseline_runs.read_judged_numbers(record).items()
    }
    curve = record.get("learning_curve") or ()
    return ReportedRun(
        seed=record["seed"], numbers=numbers, curve=curve, failure=record.get("failure") or ""
    )


def _build_reported_stored_run(run: baseline_runs.StoredRun) -> ReportedRun:
    numbers = {quantity.name: run.get_value_of(quantity) for quantity in (RETURNS, *SECONDARY)}
    failed = "" if run.status == FINISHED else run.failure or "it failed"
    return ReportedRun(seed=run.seed, numbers=numbers, curve=run.learning_curve, failure=failed)


def collect_deviating_details(
    failures: Sequence[Mapping[str, Any]], adapters: Sequence[Adapter]
) -> tuple[Deviation, ...]:
    """Return the details of failed tests, once each."""
    by_name = {adapter.full_name: adapter for adapter in adapters}
    deviations_by_key: dict[tuple[str, str, str], Deviation] = {}
    for entry in failures:
        key = entry.get("framework", ""), entry.get("detail", ""), entry.get("scope", "")
        if key[1] and key[0] in by_name and key not in deviations_by_key:
            deviations_by_key[key] = _build_deviation(by_name[key[0]], entry)
    return tuple(deviations_by_key.values())


def _build_deviation(adapter: Adapter, entry: Mapping[str, Any]) -> Deviation:
    detail, scope = registry.get_detail(entry["detail"]), entry["scope"]
    matching = [
        implementation
        for implementation in list_implementations(adapter, detail.id)
        if implementation.scope == scope
    ]
    documented = matching[0].documented if matching else None
    lines = places.find_lines_to_inspect(matching[0], entry.get("found")).lines if matching else []
    line = lines[0] if lines else None

    def format_formula(variant: str) -> str:
        return detail.variants[variant].meaning if variant in detail.variants else ""

    documented_variant = documented.variant if documented is not None else "nothing"
    found_variant = str(entry.get("found") or "no answer")
    code: tuple[tuple[int, str], ...] = ()
    path = adapter.code.find_installed_path(line.file) if line is not None else None
    if line is not None and path is not None:
        text = path.read_text(encoding="utf-8").splitlines()
        first_line = max(1, line.line - _CONTEXT)
        context = textwrap.dedent("\n".join(text[first_line - 1 : line.line + _CONTEXT]))
        code = tuple(enumerate(context.split("\n"), start=first_line))
    return Deviation(
        framework=adapter.full_name,
        id=detail.id,
        scope=scope,
        question=detail.question,
        consequence=detail.consequence,
        documented=(documented_variant, format_formula(documented_variant)),
        found=(found_variant, format_formula(found_variant)),
        place=str(line) if line is not None else "",
        code=code,
        message=str(entry["message"]),
        path=path,
        line=line.line if line is not None else 1,
        link=source_links.find_source_url(path, line.file) if line is not None else "",
    )


def diff_imported_with_installed_code(adapters: Sequence[Adapter]) -> tuple[Hunk, ...]:
    """Return the differences between installed files and the copies that are imported instead."""
    hunks: list[Hunk] = []
    for adapter in adapters:
        for module, place in identity.find_modules_outside_distribution(adapter).items():
            for package in adapter.framework.packages:
                distribution = importlib.metadata.distribution(package)
                installed = Path(str(distribution.locate_file(module)))
                if installed.is_dir():
                    hunks += source_diff.diff_package_folders(module, installed, Path(place))
    return tuple(dict.fromkeys(hunks))[:_FILES]


def summarize_algorithm_coverage(
    ids: Iterable[str], algorithms: Collection[str], judged: Iterable[Cell]
) -> AlgorithmCoverage:
    """Return the algorithms whose returns or details were checked.

    Args:
        ids: the probed details.
        algorithms: all algorithms.
        judged: cells whose returns were judged.
    """
    returns = {cell.algorithm for cell in judged}
    families = {id.partition(".")[0] for id in ids}
    return AlgorithmCoverage(
        returns=tuple(sorted(returns)), others=tuple(sorted((families & set(algorithms)) - returns))
    )


def describe_machine() -> str:
    """Describe this machine: processor, cores, system and Python."""
    return (
        f"{read_cpu_name()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def format_time_with_offset(seconds_ago: float = 0.0) -> str:
    """Return date and time to the minute, with the offset from UTC."""
    moment = datetime.now().astimezone() - timedelta(seconds=seconds_ago)
    return moment.strftime("%Y-%m-%d %H:%M %z")

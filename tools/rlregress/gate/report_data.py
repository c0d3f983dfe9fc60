"""What a report shows beside the verdicts: the runs they rest on, and what is not as documented."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rlregress.details import catalogue
from rlregress.details.implementation import implementations
from rlregress.faults import places
from rlregress.frameworks.base import Adapter
from rlregress.gate import baseline_runs, source_diff, source_links
from rlregress.gate.baseline_runs import FINISHED
from rlregress.inside import identity
from rlregress.inside.machine import cpu_name
from rlregress.inside.machine import text as machine_text
from rlregress.model.cells import Band, CellRuns, ReportedRun
from rlregress.model.code import Hunk
from rlregress.model.gate_result import AlgorithmCoverage, Deviation
from rlregress.model.quantities import RETURNS, SECONDARY
from rlregress.training.cell import Cell

#: files of a changed copy that are shown, and lines around one that decides a detail.
_FILES, _CONTEXT = 6, 3


def runs(
    entries: Sequence[Mapping[str, Any]], bands: Mapping[str, Band] | None = None
) -> dict[str, CellRuns]:
    """Id of a cell -> its runs, of every cell that tests have trained or judged.

    Args:
        entries: of the evidence.
        bands: id of a cell -> the published band that it is judged by.
    """
    new: dict[str, list[ReportedRun]] = {e["cell"]: [] for e in entries if "cell" in e}
    for entry in entries:
        if "record" in entry:
            new[entry["cell"]].append(_new(entry["record"]))
    known = {stored.cell.id: stored for stored in baseline_runs.every()}
    by_cell = {}
    for name, of_cell in sorted(new.items()):
        ordered = tuple(sorted(of_cell, key=lambda run: run.seed))
        band = (bands or {}).get(name)
        stored = known.get(name)
        if stored is None or band is not None:
            by_cell[name] = CellRuns(stored=(), new=ordered, band=band)
            continue
        by_cell[name] = CellRuns(
            stored=tuple(map(_stored, stored.runs)),
            new=ordered,
            band=None,
            versions=stored.versions,
            machine=machine_text(stored.platform, ("cpu", "python")),
        )
    return by_cell


def _new(record: Mapping[str, Any]) -> ReportedRun:
    numbers = {of.name: value for of, value in baseline_runs.numbers_of(record).items()}
    curve = record.get("learning_curve") or ()
    return ReportedRun(
        seed=record["seed"], numbers=numbers, curve=curve, failure=record.get("failure") or ""
    )


def _stored(run: baseline_runs.StoredRun) -> ReportedRun:
    numbers = {of.name: run.number(of) for of in (RETURNS, *SECONDARY)}
    failed = "" if run.status == FINISHED else run.failure or "it failed"
    return ReportedRun(seed=run.seed, numbers=numbers, curve=run.learning_curve, failure=failed)


def deviations(
    failures: Sequence[Mapping[str, Any]], adapters: Sequence[Adapter]
) -> tuple[Deviation, ...]:
    """The details that failed tests have asked, once each."""
    by_name = {adapter.full_name: adapter for adapter in adapters}
    made: dict[tuple[str, str, str], Deviation] = {}
    for entry in failures:
        key = entry.get("framework", ""), entry.get("detail", ""), entry.get("scope", "")
        if key[1] and key[0] in by_name and key not in made:
            made[key] = _deviation(by_name[key[0]], entry)
    return tuple(made.values())


def _deviation(adapter: Adapter, entry: Mapping[str, Any]) -> Deviation:
    detail, scope = catalogue.get(entry["detail"]), entry["scope"]
    of = [
        implementation
        for implementation in implementations(adapter, detail.id)
        if implementation.scope == scope
    ]
    documented = of[0].documented if of else None
    lines = places.at_fault(of[0], entry.get("found")).lines if of else []
    line = lines[0] if lines else None

    def formula(variant: str) -> str:
        return detail.variants[variant].meaning if variant in detail.variants else ""

    wanted = documented.variant if documented is not None else "nothing"
    found = str(entry.get("found") or "no answer")
    code: tuple[tuple[int, str], ...] = ()
    path = adapter.code.locate(line.file) if line is not None else None
    if line is not None and path is not None:
        text = path.read_text(encoding="utf-8").splitlines()
        begin = max(1, line.line - _CONTEXT)
        context = textwrap.dedent("\n".join(text[begin - 1 : line.line + _CONTEXT]))
        code = tuple(enumerate(context.split("\n"), start=begin))
    return Deviation(
        framework=adapter.full_name,
        id=detail.id,
        scope=scope,
        question=detail.question,
        consequence=detail.consequence,
        documented=(wanted, formula(wanted)),
        found=(found, formula(found)),
        place=str(line) if line is not None else "",
        code=code,
        message=str(entry["message"]),
        path=path,
        line=line.line if line is not None else 1,
        link=source_links.address(path, line.file) if line is not None else "",
    )


def changed_files(adapters: Sequence[Adapter]) -> tuple[Hunk, ...]:
    """What differs between copies that are on the path in place of installed files, and these."""
    hunks: list[Hunk] = []
    for adapter in adapters:
        for module, place in identity.changed_copies(adapter).items():
            for package in adapter.framework.packages:
                distribution = importlib.metadata.distribution(package)
                installed = Path(str(distribution.locate_file(module)))
                if installed.is_dir():
                    hunks += source_diff.of_folders(module, installed, Path(place))
    return tuple(dict.fromkeys(hunks))[:_FILES]


def algorithm_coverage(
    ids: Iterable[str], known: Collection[str], judged: Iterable[Cell]
) -> AlgorithmCoverage:
    """The extent of what was asked of a framework.

    Args:
        ids: of the details that it was to be asked.
        known: every algorithm that there is.
        judged: its cells whose returns were judged.
    """
    returns = {cell.algorithm for cell in judged}
    families = {id.partition(".")[0] for id in ids}
    return AlgorithmCoverage(
        returns=tuple(sorted(returns)), others=tuple(sorted((families & set(known)) - returns))
    )


def machine() -> str:
    """The processor, its cores, the system and Python of this machine."""
    return (
        f"{cpu_name()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def now(seconds_ago: float = 0.0) -> str:
    """Date and time, to the minute, with the distance from UTC."""
    of = datetime.now().astimezone() - timedelta(seconds=seconds_ago)
    return of.strftime("%Y-%m-%d %H:%M %z")

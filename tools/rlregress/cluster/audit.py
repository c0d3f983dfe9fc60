"""Every record of a store read and checked; the records of several stores brought together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlregress.cluster.manifest import Manifest
from rlregress.errors import UserError
from rlregress.inside import machine, run_record
from rlregress.model.store_state import Audit, Merged
from rlregress.training import recorded_runs
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Job
from rlregress.training.store import Store


def _each(
    store: Store, names: Iterable[str], damaged: dict[Path, str]
) -> Iterator[tuple[Path, Job, Mapping[str, Any]]]:
    """Path, run and content of the records that are whole; the others go to ``damaged``."""
    for name in names:
        path = store.folder / f"{name}.json"
        try:
            job, content = recorded_runs.read_record(path)
        except UserError as error:
            damaged[path] = str(error)
        else:
            if content["key"] == job.key and job.name == name:
                yield path, job, content
            else:
                damaged[path] = (
                    f"the run record {path} is not that of its name: it says that it is {job.name}"
                )


def _not_as_budget(job: Job) -> str:
    """How the protocol of a run differs from that of its budget; empty: not at all."""
    try:
        wanted = load_budget(job.cell.budget).protocol(job.cell.algorithm)
    except UserError as error:
        return str(error)
    if job.protocol == wanted:
        return ""
    return f"its protocol is {asdict(job.protocol)}, that of its budget {asdict(wanted)}"


def verify(store: Store, manifest: Manifest | None) -> Audit:
    """Check seal, key, place, protocol and versions of every record, and duplicates.

    Args:
        manifest: of which runs it is told how many have no record.
    """
    there = store.list_contents()
    records = failed = 0
    damaged: dict[Path, str] = {}
    of_cells: dict[str, dict[str, Counter[str]]] = {}
    not_as_budget: Counter[str] = Counter()
    intact: set[str] = set()
    for _, job, content in _each(store, sorted(there.done), damaged):
        records += 1
        failed += content["status"] == "failed"
        intact.add(job.name)
        if why := _not_as_budget(job):
            not_as_budget[f"{job.cell.id}: {why}"] += 1
        counters = of_cells.setdefault(job.cell.id, {"versions": Counter(), "machines": Counter()})
        counters["versions"][", ".join(f"{k} {v}" for k, v in sorted(job.versions.items()))] += 1
        if content["platform"]:
            counters["machines"][machine.text(content["platform"])] += 1
    wrong = [f"{why} (runs: {number})" for why, number in not_as_budget.items()]
    wrong += [
        f"{store.folder / name} is the record of an attempt that came to another result than the "
        "record of the run; the framework does not repeat itself, or the machines differ"
        for name in there.duplicates
    ]
    notes = [f"{store.folder / name} was damaged, and set aside" for name in there.damaged]
    for cell, counters in sorted(of_cells.items()):
        for what, counted in counters.items():
            if len(counted) > 1:
                text = "; ".join(f"{name} (runs: {n})" for name, n in counted.most_common())
                notes.append(f"{cell} has runs of {len(counted)} {what}: {text}")
    missing = None
    if manifest is not None:
        missing = sum(run.name not in intact for run in manifest.runs())
    return Audit(
        records=records, failed=failed, damaged=damaged, wrong=wrong, notes=notes, missing=missing
    )


def merge(sources: Sequence[Store], into: Store) -> Merged:
    """Copy the records of stores into one, by content; nothing there is overwritten."""
    new = equal = 0
    differing: list[str] = []
    damaged: dict[Path, str] = {}
    for source in sources:
        for path, job, content in _each(source, sorted(source.list_contents().done), damaged):
            there = into.find_record(job)
            if there is None or run_record.outcome(there) != run_record.outcome(content):
                origin = content.get("attempt") or {}
                # the name of a duplicate is made of who made it
                name = origin.get("id") or run_record.checksum(content).replace(":", "-")
                if into.put_record(job, content, name):
                    new += 1
                else:
                    differing.append(f"{path} differs from {into.path(job)}")
            else:
                equal += 1
    return Merged(new=new, equal=equal, differing=differing, damaged=damaged)

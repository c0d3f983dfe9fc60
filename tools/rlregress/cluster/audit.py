"""Every record of a store read and checked; the records of several stores brought together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rlregress.cluster.manifest import Manifest
from rlregress.errors import UserError
from rlregress.training import machine, record, recorded
from rlregress.training.budgets import budget
from rlregress.training.cell import Job
from rlregress.training.store import Store


@dataclass
class Audit:
    """What reading every record of a store has shown.

    Attributes:
        records, failed: how many can be read; of them, how many of failed runs.
        damaged: records that cannot be used, and why.
        wrong: what else is wrong, a sentence each.
        notes: what is no fault, and is to be known before runs are judged together.
        missing: how many runs of the manifest have no record; None: no manifest was given.
    """

    records: int = 0
    failed: int = 0
    damaged: dict[Path, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: int | None = None


@dataclass
class Merged:
    """What a merge did.

    Attributes:
        new, equal: records that were copied; that were there with the same result.
        differing: that were there with another result, and which files.
        damaged: that were left out, and why.
    """

    new: int = 0
    equal: int = 0
    differing: list[str] = field(default_factory=list)
    damaged: dict[Path, str] = field(default_factory=dict)


def _each(
    store: Store, names: Iterable[str], damaged: dict[Path, str]
) -> Iterator[tuple[Path, Job, Mapping[str, Any]]]:
    """Path, run and content of the records that are whole; the others go to ``damaged``."""
    for name in names:
        path = store.folder / f"{name}.json"
        try:
            job, content = recorded.read(path)
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
        wanted = budget(job.cell.budget).protocol(job.cell.algorithm)
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
    there = store.contents()
    audit = Audit()
    of_cells: dict[str, dict[str, Counter[str]]] = {}
    not_as_budget: Counter[str] = Counter()
    intact: set[str] = set()
    for _, job, content in _each(store, sorted(there.done), audit.damaged):
        audit.records += 1
        audit.failed += content["status"] == "failed"
        intact.add(job.name)
        if said := _not_as_budget(job):
            not_as_budget[f"{job.cell.id}: {said}"] += 1
        told = of_cells.setdefault(job.cell.id, {"versions": Counter(), "machines": Counter()})
        told["versions"][", ".join(f"{k} {v}" for k, v in sorted(job.versions.items()))] += 1
        if content["platform"]:
            told["machines"][machine.text(content["platform"])] += 1
    audit.wrong += [f"{said} (runs: {number})" for said, number in not_as_budget.items()]
    audit.wrong += [
        f"{store.folder / name} is the record of an attempt that came to another result than the "
        "record of the run; the framework does not repeat itself, or the machines differ"
        for name in there.duplicates
    ]
    audit.notes += [f"{store.folder / name} was damaged, and set aside" for name in there.damaged]
    for cell, told in sorted(of_cells.items()):
        for what, counted in told.items():
            if len(counted) > 1:
                shown = "; ".join(f"{name} (runs: {n})" for name, n in counted.most_common())
                audit.notes.append(f"{cell} has runs of {len(counted)} {what}: {shown}")
    if manifest is not None:
        audit.missing = sum(run.name not in intact for run in manifest.runs())
    return audit


def merge(sources: Sequence[Store], into: Store) -> Merged:
    """Copy the records of stores into one, by content; nothing there is overwritten."""
    merged = Merged()
    for source in sources:
        for path, job, content in _each(source, sorted(source.contents().done), merged.damaged):
            there = into.find(job)
            if there is None or record.outcome(there) != record.outcome(content):
                origin = content.get("attempt") or {}
                # the name of a duplicate is made of who made it
                name = origin.get("id") or record.checksum(content).replace(":", "-")
                if into.put(job, content, name):
                    merged.new += 1
                else:
                    merged.differing.append(f"{path} differs from {into.path(job)}")
            else:
                merged.equal += 1
    return merged

"""Audits run stores, which reads and checks every record, and merges several stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlregress.cluster.manifest import Manifest
from rlregress.errors import UserError
from rlregress.inside import machine, run_record
from rlregress.model.store_state import AuditResult, MergeResult
from rlregress.training import recorded_runs
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Job
from rlregress.training.store import Store


def _read_intact_records(
    store: Store, names: Iterable[str], damaged: dict[Path, str]
) -> Iterator[tuple[Path, Job, Mapping[str, Any]]]:
    """Yield path, run and content of intact records; put errors of the others into ``damaged``."""
    for name in names:
        path = store.folder / f"{name}.json"
        try:
            job, content = recorded_runs.read_run_and_record(path)
        except UserError as error:
            damaged[path] = str(error)
        else:
            # an intact record that was copied to the place of another run would be judged as that
            if content["key"] == job.key and job.name == name:
                yield path, job, content
            else:
                damaged[path] = (
                    f"the run record {path} does not match its name: it contains {job.name}"
                )


def _describe_deviation_from_budget(job: Job) -> str:
    """Describe how the protocol of a run differs from that of its budget; empty if it does not."""
    try:
        budget_protocol = load_budget(job.cell.budget).make_protocol_of_algorithm(
            job.cell.algorithm
        )
    except UserError as error:
        return str(error)
    if job.protocol == budget_protocol:
        return ""
    return f"its protocol is {asdict(job.protocol)}, that of its budget {asdict(budget_protocol)}"


def audit_store(store: Store, manifest: Manifest | None) -> AuditResult:
    """Check seal, key, place, protocol and versions of every record, and duplicates.

    Args:
        manifest: list of runs whose missing records are counted.
    """
    contents = store.list_runs_by_state()
    records = failed = 0
    damaged: dict[Path, str] = {}
    counters_by_cell: dict[str, dict[str, Counter[str]]] = {}
    not_as_budget: Counter[str] = Counter()
    intact: set[str] = set()
    for _, job, content in _read_intact_records(store, sorted(contents.done), damaged):
        records += 1
        failed += content["status"] == "failed"
        intact.add(job.name)
        if reason := _describe_deviation_from_budget(job):
            not_as_budget[f"{job.cell.id}: {reason}"] += 1
        counters = counters_by_cell.setdefault(
            job.cell.id, {"versions": Counter(), "machines": Counter()}
        )
        counters["versions"][", ".join(f"{k} {v}" for k, v in sorted(job.versions.items()))] += 1
        if content["platform"]:
            counters["machines"][machine.format_machine_in_words(content["platform"])] += 1
    # one sentence for each difference, not for each of perhaps thousands of runs
    wrong = [f"{reason} (runs: {number})" for reason, number in not_as_budget.items()]
    wrong += [
        f"{store.folder / name} is the record of an attempt with another result than the "
        "record of the run; the training is not deterministic, or the machines differ"
        for name in contents.duplicates
    ]
    notes = [f"{store.folder / name} was damaged, and set aside" for name in contents.damaged]
    for cell, counters in sorted(counters_by_cell.items()):
        for kind, counts in counters.items():
            # allowed, but runs of different versions or machines may differ for that reason
            if len(counts) > 1:
                text = "; ".join(f"{name} (runs: {n})" for name, n in counts.most_common())
                notes.append(f"{cell} has runs of {len(counts)} {kind}: {text}")
    missing = None
    if manifest is not None:
        # a damaged record counts as missing: its run must be done again
        missing = sum(run.name not in intact for run in manifest.iterate_runs())
    return AuditResult(
        records=records, failed=failed, damaged=damaged, wrong=wrong, notes=notes, missing=missing
    )


def merge_records_of_stores(sources: Sequence[Store], target: Store) -> MergeResult:
    """Copy the records of stores into one, by content; existing records are never overwritten."""
    new = equal = 0
    differing: list[str] = []
    damaged: dict[Path, str] = {}
    for source in sources:
        for path, job, content in _read_intact_records(
            source, sorted(source.list_runs_by_state().done), damaged
        ):
            existing = target.find_record(job)
            if existing is None or run_record.select_result_of_run(
                existing
            ) != run_record.select_result_of_run(content):
                origin = content.get("attempt") or {}
                # a duplicate is named after its attempt
                name = origin.get("id") or run_record.compute_checksum(content).replace(":", "-")
                if target.put_record_of_attempt(job, content, name):
                    new += 1
                else:
                    differing.append(f"{path} differs from {target.locate_record(job)}")
            else:
                equal += 1
    return MergeResult(new=new, equal=equal, differing=differing, damaged=damaged)

"""Replays: a stored run is trained again here and compared with its record bit by bit.

A run with the same numbers as its record shows that all code it executes behaves as before. Its
return never enters a sample of new runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import tomli_w

from rlregress import datafiles, evidence, suite
from rlregress.check import baseline_runs
from rlregress.check.baseline_runs import Baseline, StoredRun
from rlregress.datafiles import Line
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.inside.worker import PORTABLE
from rlregress.model.replay_result import DIFFERS, KINDS, NOT_REPLAYED, Replay
from rlregress.model.verdict import REPRODUCED
from rlregress.training import job_plan, worker_launch
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell, Job
from rlregress.training.recorded_runs import RunResult, Trail
from rlregress.training.store import Store

#: with another release of these, different bits are expected
_NUMERIC_PACKAGES = ("numpy", "torch")
#: fields that may differ between two runs of one seed
_VOLATILE_FIELDS = ("time", "seed", "sources")


@dataclass(frozen=True)
class ReplayableRun:
    """A stored run that can be replayed.

    Attributes:
        cell: the cell whose fresh seeds the replay replaces.
        job: the run with the installed code.
    """

    cell: Cell
    stored: Baseline
    run: StoredRun
    job: Job

    @property
    def description(self) -> str:
        """Description of the code that the run executes."""
        lines = self.run.trail.lines if self.run.trail is not None else {}
        steps = f"{self.job.protocol.total_steps:_} steps".replace("_", " ")
        return f"{steps} with the numbers of seed {self.run.seed}{_describe_executed_share(lines)}"

    @property
    def changes(self) -> str:
        """Versions and code here that differ from those of the stored run, in words."""
        old, new = self.stored.versions, self.job.versions
        changes = [
            f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
        changes += [f"code of {name}" for name in self._list_changed_sources()]
        return ", ".join(changes)

    def _list_changed_sources(self) -> list[str]:
        stored = self.run.sources or self.stored.sources
        return [name for name, digest in self.job.sources.items() if stored.get(name) != digest]


def find_replayable_run(cell: Cell, seed: int) -> ReplayableRun | None:
    """Return the stored run that a cell can replay; None if it has no file.

    Args:
        seed: of the run; -1: a different stored seed each day.

    Raises:
        UserError: it was recorded with another protocol or other hyperparameters, or the seed is
            not stored.
    """
    name = load_budget(cell.budget).replay
    if not name:
        return None
    replayed_cell = replace(cell, budget=name)
    path = baseline_runs.locate_baseline(replayed_cell)
    if not path.exists():
        return None
    stored = baseline_runs.load_baseline(path)
    runs = {run.seed: run for run in stored.runs}
    if seed < 0:
        seed = list(runs)[date.today().toordinal() % len(runs)]
    if seed not in runs:
        raise UserError(
            f"--replay-seed is {seed}, expected a seed of {path}: {', '.join(map(str, runs))}"
        )
    [job] = job_plan.plan_jobs_of_cell(replayed_cell, [seed])
    baseline_runs.check_same_protocol(stored, job.protocol)
    baseline_runs.check_same_hyperparameters(stored, job.hyperparameters)
    return ReplayableRun(cell, stored, runs[seed], job)


@dataclass(frozen=True)
class _Canary:
    """Digests of single operations, computed on the machine that recorded the stored runs.

    Attributes:
        versions: of NumPy and torch.
        operations: name -> digest of its result.
    """

    versions: Mapping[Line, Line]
    operations: Mapping[Line, Line]


def locate_canary_file() -> Path:
    """Return the file of digests that this machine's arithmetic is compared with."""
    return baseline_runs.locate_returns_folder().with_name("canary.toml")


def digest_operations_in_process() -> dict[str, str]:
    """Return digests of single operations in portable arithmetic, computed in another process.

    Raises:
        UserError: the process ended without them.
    """
    command = [sys.executable, "-m", "rlregress.inside.canary"]
    environment = worker_launch.make_worker_environment(portable=True)
    completed = subprocess.run(command, env=environment, capture_output=True, text=True)
    try:
        digests: dict[str, str] = json.loads(completed.stdout)
    except ValueError:
        raise UserError(
            f"the arithmetic of this machine could not be checked: {' '.join(command)} ended with "
            f"status {completed.returncode}: {completed.stderr.strip()[-300:]}"
        ) from None
    return digests


def _explain_differing_arithmetic(recorded_run: ReplayableRun, store: Store) -> str:
    """Explain why this machine cannot compute the recorded numbers; empty if it can.

    With another NumPy or torch the comparison is skipped; replays show their changes.
    """
    path = store.folder / "canary.json"
    if not path.exists():
        try:
            run_record.write_text_atomically(path, json.dumps(digest_operations_in_process()))
        except UserError as error:
            # for example a processor that lacks the instructions
            return str(error)
    canary: _Canary = datafiles.read_data_file_cached(locate_canary_file(), _Canary)
    if any(
        recorded_run.job.versions.get(name) != version for name, version in canary.versions.items()
    ):
        return ""
    digests = json.loads(path.read_text(encoding="utf-8"))
    differing = [name for name, digest in canary.operations.items() if digests.get(name) != digest]
    if not differing:
        return ""
    ending = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
    return (
        f"this machine's arithmetic is not that of the records (operation {differing[0]}{ending})"
    )


def train_or_read_replay(recorded_run: ReplayableRun, store: Store) -> Replay:
    """Return the result of a replay; train unless this session has a record of it.

    Args:
        store: used by this session only, because a replay is executed where it is judged.
    """
    common: dict[str, Any] = {
        "cell": recorded_run.cell.id,
        "replayed": recorded_run.job.cell.id,
        "seed": recorded_run.job.seed,
        "moved": recorded_run.changes,
    }
    if reason := _explain_differing_arithmetic(recorded_run, store):
        return Replay(**common, state=NOT_REPLAYED, reason=reason)
    record = worker_launch.do_run_unless_recorded(recorded_run.job, store)
    common["seconds"] = record["time"].get("cpu_seconds", 0.0)
    arithmetic = record["platform"].get("arithmetic", "unknown: the training ended in an error")
    if arithmetic != recorded_run.stored.platform.get("arithmetic"):
        reason = f"this process computes with another arithmetic than the record: {arithmetic}"
        return Replay(**common, state=NOT_REPLAYED, reason=reason)
    first = describe_first_difference(recorded_run.run, RunResult.make_from_record(record))
    if not first:
        return _build_reproduced_replay(recorded_run, record, common)
    # different numbers show a change only if two trainings here give the same numbers
    second_store = Store(store.folder / "again")
    second_record = worker_launch.do_run_unless_recorded(recorded_run.job, second_store)
    if describe_first_difference(
        RunResult.make_from_record(record), RunResult.make_from_record(second_record)
    ):
        reason = "training is not deterministic here: two replays differ"
    elif not recorded_run.changes:
        reason = (
            "versions and code are those of the record, so this machine or rlregress itself is the "
            f"cause; the first difference is {first}"
        )
    else:
        reason = (
            f"other numbers, first difference: {first}; changed since the record: "
            f"{recorded_run.changes}"
        )
    return Replay(**common, state=DIFFERS, reason=reason, first=first)


def _build_reproduced_replay(
    recorded_run: ReplayableRun, record: Mapping[str, Any], common: Mapping[str, Any]
) -> Replay:
    trail = RunResult.make_from_record(record).trail
    lines = trail.lines if trail is not None else {}
    protocol = recorded_run.job.protocol
    steps = f"{protocol.total_steps:_}".replace("_", " ")
    not_checked = [
        "other seeds, budgets and hyperparameters",
        "kernels that torch would choose natively here",
    ]
    return Replay(
        **common,
        state=REPRODUCED,
        reason=f"seed {recorded_run.job.seed}: same numbers in all {steps} steps"
        + _describe_executed_share(lines),
        not_checked=", ".join(not_checked),
        steps=record["steps"],
        lines=lines,
    )


def _describe_executed_share(line_counts: Mapping[str, tuple[int, int]]) -> str:
    """Describe how much of the algorithm's files ran; empty if it was not counted."""
    if not line_counts:
        return ""
    executed, total = (sum(numbers) for numbers in zip(*line_counts.values(), strict=True))
    names = sorted(name.rpartition("/")[2] for name in line_counts)
    file_list = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"; {100 * executed // total} % of the lines of {file_list} ran"


def check_runs_can_be_replayed(
    runs: Sequence[tuple[Job, Mapping[str, Any]]], store: Store, workers: int
) -> None:
    """Train runs again; raise UserError unless they can be replayed. Write a missing canary file.

    Args:
        runs: runs of one cell, each with its record.
        store: the store of the records; the runs are repeated in a folder of it.

    Raises:
        UserError: another version than that of constraints.txt, another arithmetic, or a run that
            does not repeat itself.
    """
    jobs = [job for job, _ in runs]
    pinned_versions = dict(
        line.split("==")
        for line in _read_constraints_file().splitlines()
        if "==" in line.partition("#")[0]
    )
    wrong_versions = [
        f"{name} {version}, expected {pinned_versions[name]}"
        for name, version in jobs[0].versions.items()
        if pinned_versions.get(name, version) != version.partition("+")[0]
        and name in pinned_versions
    ]
    if wrong_versions:
        raise UserError(
            "a replay is recorded with the versions of constraints.txt: found "
            f"{wrong_versions[0]}; install that version"
        )
    operations, path = digest_operations_in_process(), locate_canary_file()
    versions = {name: jobs[0].versions[name] for name in _NUMERIC_PACKAGES}
    if not path.exists():
        content = {"versions": versions, "operations": operations}
        run_record.write_text_atomically(path, tomli_w.dumps(content))
    elif (stored := datafiles.read_data_file(path, _Canary)).operations != operations:
        raise UserError(
            f"this machine's arithmetic is not that of {path}, recorded with "
            f"{dict(stored.versions)}; remove that file and all replays to record them anew"
        )
    second_store = Store(store.folder / "again")
    worker_launch.do_runs_in_order(jobs, second_store, workers, lambda *_: None)
    for job, record in runs:
        arithmetic = record["platform"].get("arithmetic")
        if arithmetic != PORTABLE:
            raise UserError(
                f"the run {job.title} has arithmetic that differs between processors: found "
                f"{arithmetic}, expected {PORTABLE}; record it on an x86-64 processor with AVX2 "
                "and FMA"
            )
        repeated = RunResult.make_from_record(
            worker_launch.do_run_unless_recorded(job, second_store)
        )
        if first := describe_first_difference(RunResult.make_from_record(record), repeated):
            raise UserError(
                f"two trainings of {job.title} differ here: {first}; only a deterministic training "
                "can be replayed"
            )


def _read_constraints_file() -> str:
    return (suite.find_suite_root() / "constraints.txt").read_text(encoding="utf-8")


def describe_first_difference(expected: RunResult, observed: RunResult) -> str:
    """Describe the first difference of two runs of one seed; empty if there is none.

    The source line of an update is not compared: a moved line computes the same.
    """
    old, new = expected.trail, observed.trail
    if old is not None and new is not None:
        for row, old_row, new_row in zip(
            old.rows,
            _list_rows_without_source_line(old),
            _list_rows_without_source_line(new),
            strict=False,
        ):
            kinds = ("number", *KINDS)
            if differing := [k for k, a, b in zip(kinds, old_row, new_row, strict=True) if a != b]:
                update, line, *_ = row.split(" ")
                return f"update {update}, {differing[0]} ({old.names[int(line)]})"
    numbers = _select_comparable_numbers(observed)
    for name, value in _select_comparable_numbers(expected).items():
        if value != numbers[name]:
            return f"the {name.replace('_', ' ')} after the training"
    return ""


def _list_rows_without_source_line(trail: Trail) -> list[list[str]]:
    """Return each row without its source line: the number of the update and its digests."""
    return [[update, *digests] for update, _, *digests in (row.split(" ") for row in trail.rows)]


def _select_comparable_numbers(run: RunResult) -> dict[str, Any]:
    """Return the values that two runs of one seed must share, as plain data."""
    numbers = evidence.convert_to_plain_data(asdict(run))
    numbers["trail"] = run.trail and [run.trail.updates, _list_rows_without_source_line(run.trail)]
    return {
        name: _drop_none_values(value)
        for name, value in numbers.items()
        if name not in _VOLATILE_FIELDS
    }


def _drop_none_values(value: Any) -> Any:
    """Return a value without None, because files of stored runs cannot hold it."""
    if isinstance(value, dict):
        return {name: _drop_none_values(item) for name, item in value.items() if item is not None}
    return (
        [_drop_none_values(item) for item in value if item is not None]
        if isinstance(value, list)
        else value
    )

"""Replays: a stored run is trained again here, and compared with its record to the last bit.

One run that has the numbers of its record shows that everything that it executes does what it did.
Its return is that of the record and never enters a sample of new runs.
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
from rlregress.datafiles import Line
from rlregress.errors import UserError
from rlregress.gate import baseline_runs
from rlregress.gate.baseline_runs import Baseline, StoredRun
from rlregress.inside import run_record
from rlregress.inside.worker import PORTABLE
from rlregress.model.replay_result import DIFFERS, KINDS, NOT_REPLAYED, Replay
from rlregress.model.verdict import REPRODUCED
from rlregress.training import job_plan, worker_launch
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell, Job
from rlregress.training.recorded_runs import RunResult, Trail
from rlregress.training.store import Store

#: what computes: with another release of one, other bits are to be expected.
_COMPUTING = ("numpy", "torch")
#: of a run, what says when it was made and how fast it was
_MEASURED = ("time", "seed", "sources")


@dataclass(frozen=True)
class Recorded:
    """A stored run that can be replayed.

    Attributes:
        cell: whose fresh seeds the replay stands for.
        job: the run, of the code that is here.
    """

    cell: Cell
    stored: Baseline
    run: StoredRun
    job: Job

    @property
    def described(self) -> str:
        """Return what the run executes, in words."""
        lines = self.run.trail.lines if self.run.trail is not None else {}
        steps = f"{self.job.protocol.total_steps:_} steps".replace("_", " ")
        return f"{steps} with the numbers of seed {self.run.seed}{_share(lines)}"

    @property
    def is_expected(self) -> bool:
        """Return whether the numbers are likely those of the record: other libraries may move."""
        old, new = self.stored.versions, self.job.versions
        return all(old.get(name) == new.get(name) for name in _COMPUTING)

    @property
    def moved(self) -> str:
        """Return the versions and the code that are not those of the stored run, in words."""
        old, new = self.stored.versions, self.job.versions
        moved = [
            f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
        sources = self.run.sources or self.stored.sources
        moved += [
            f"code of {name}" for name, digest in self.job.sources.items()
            if sources.get(name) != digest
        ]  # fmt: skip
        return ", ".join(moved)


def recorded(cell: Cell, seed: int) -> Recorded | None:
    """Return the stored run that stands for a cell; None if its file is not there.

    Args:
        seed: of the run; -1: another one of the stored seeds each day.

    Raises:
        UserError: it was recorded with another protocol or with other hyperparameters, or the seed
            is none of those that are stored.
    """
    name = load_budget(cell.budget).replay
    if not name:
        return None
    replayed = replace(cell, budget=name)
    path = baseline_runs.path_of(replayed)
    if not path.exists():
        return None
    stored = baseline_runs.load(path)
    runs = {run.seed: run for run in stored.runs}
    if seed < 0:
        seed = list(runs)[date.today().toordinal() % len(runs)]
    if seed not in runs:
        raise UserError(
            f"--replay-seed is {seed}, expected a seed of {path}: {', '.join(map(str, runs))}"
        )
    [job] = job_plan.plan_jobs(replayed, [seed])
    baseline_runs.check_protocol(stored, job.protocol)
    baseline_runs.check_hyperparameters(stored, job.hyperparameters)
    return Recorded(cell, stored, runs[seed], job)


@dataclass(frozen=True)
class _Canary:
    """What ``inside.canary`` came to where the records were made.

    Attributes:
        versions: of NumPy and torch.
        operations: name -> digest of its result.
    """

    versions: Mapping[Line, Line]
    operations: Mapping[Line, Line]


def canary_path() -> Path:
    """Return the file of the digests that this machine's arithmetic is compared with."""
    return baseline_runs.folder().with_name("canary.toml")


def digest_operations() -> dict[str, str]:
    """Return the digests of single operations in portable arithmetic, computed by a process.

    Raises:
        UserError: it ended without them.
    """
    command = [sys.executable, "-m", "rlregress.inside.canary"]
    environment = worker_launch.worker_environment(portable=True)
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    try:
        found: dict[str, str] = json.loads(ended.stdout)
    except ValueError:
        raise UserError(
            f"the arithmetic of this machine could not be checked: {' '.join(command)} ended with "
            f"status {ended.returncode}: {ended.stderr.strip()[-300:]}"
        ) from None
    return found


def _other_arithmetic(of: Recorded, store: Store) -> str:
    """Return in which operation this machine differs from the records; empty: in none.

    Nothing is known of it with another NumPy or torch; what these change, replays show.
    """
    path = store.folder / "canary.json"
    if not path.exists():
        try:
            run_record.write_atomically(path, json.dumps(digest_operations()))
        except UserError as error:
            # such as a processor that has not the instructions
            return str(error)
    canary: _Canary = datafiles.remembered(canary_path(), _Canary)
    if any(of.job.versions.get(name) != version for name, version in canary.versions.items()):
        return ""
    found = json.loads(path.read_text(encoding="utf-8"))
    other = [name for name, digest in canary.operations.items() if found.get(name) != digest]
    if not other:
        return ""
    more = f" and {len(other) - 1} more" if len(other) > 1 else ""
    return f"this machine's arithmetic is not that of the records (operation {other[0]}{more})"


def replay(of: Recorded, store: Store) -> Replay:
    """Return what the replay comes to; trains it unless this session has.

    Args:
        store: of the session alone: a replay is executed where it is judged.
    """
    known: dict[str, Any] = {
        "cell": of.cell.id,
        "replayed": of.job.cell.id,
        "seed": of.job.seed,
        "moved": of.moved,
    }
    if reason := _other_arithmetic(of, store):
        return Replay(**known, state=NOT_REPLAYED, reason=reason)
    record = worker_launch.do_run(of.job, store)
    known["seconds"] = record["time"].get("cpu_seconds", 0.0)
    arithmetic = record["platform"].get("arithmetic", "unknown: the training ended in an error")
    if arithmetic != of.stored.platform.get("arithmetic"):
        reason = f"this process does not compute as the record: {arithmetic}"
        return Replay(**known, state=NOT_REPLAYED, reason=reason)
    first = first_difference(of.run, RunResult.from_record(record))
    if not first:
        return _reproduced(of, record, known)
    again = worker_launch.do_run(of.job, Store(store.folder / "again"))
    if first_difference(RunResult.from_record(record), RunResult.from_record(again)):
        reason = "it does not repeat itself here: two replays differ"
    elif not of.moved:
        reason = (
            "versions and code are those of the record: this machine, or rlregress itself, is the "
            f"cause; it differs first at {first}"
        )
    else:
        reason = f"other numbers, first at {first}; since the record: {of.moved}"
    return Replay(**known, state=DIFFERS, reason=reason, first=first)


def _reproduced(of: Recorded, record: Mapping[str, Any], known: Mapping[str, Any]) -> Replay:
    lines = {name: (hit, of_all) for name, (hit, of_all) in record["trail"]["lines"].items()}
    protocol = of.job.protocol
    not_checked = [
        "other seeds, budgets and hyperparameters",
        "kernels that torch would choose natively here",
    ]
    return Replay(
        **known,
        state=REPRODUCED,
        reason=f"seed {of.job.seed}: same numbers in all {protocol.total_steps:_} steps".replace(
            "_", " "
        )
        + _share(lines),
        not_checked=", ".join(not_checked),
        steps=record["steps"],
        lines=lines,
    )


def _share(lines: Mapping[str, tuple[int, int]]) -> str:
    """Return how much of the algorithm's files ran, in words; empty where it was not counted."""
    if not lines:
        return ""
    ran, every = (sum(numbers) for numbers in zip(*lines.values(), strict=True))
    names = sorted(name.rpartition("/")[2] for name in lines)
    named = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"; {100 * ran // every} % of the lines of {named} ran"


def admit(runs: Sequence[tuple[Job, Mapping[str, Any]]], store: Store, workers: int) -> None:
    """Check that runs can be replayed: they are what others have, and repeat themselves here.

    Args:
        runs: of one cell, each with its record.
        store: holds the records; the runs are done again in a folder of it.

    Raises:
        UserError: another version than that of constraints.txt, another arithmetic, or a run that
            does not repeat itself.
    """
    jobs = [job for job, _ in runs]
    pinned = dict(
        line.split("==") for line in _constraints().splitlines() if "==" in line.partition("#")[0]
    )
    other = [
        f"{name} {version}, expected {pinned[name]}"
        for name, version in jobs[0].versions.items()
        if pinned.get(name, version) != version.partition("+")[0] and name in pinned
    ]
    if other:
        raise UserError(f"a replay is recorded with the versions of constraints.txt: {other[0]}")
    operations, path = digest_operations(), canary_path()
    versions = {name: jobs[0].versions[name] for name in _COMPUTING}
    if not path.exists():
        content = {"versions": versions, "operations": operations}
        run_record.write_atomically(path, tomli_w.dumps(content))
    elif (stored := datafiles.read(path, _Canary)).operations != operations:
        raise UserError(
            f"this machine's arithmetic is not that of {path}, recorded with "
            f"{dict(stored.versions)}; remove that file and all replays to record them anew"
        )
    again = Store(store.folder / "again")
    worker_launch.do_runs(jobs, again, workers, lambda *_: None)
    for of, record in runs:
        arithmetic = record["platform"].get("arithmetic")
        if arithmetic != PORTABLE:
            raise UserError(f"the run {of.title} was not in portable arithmetic: {arithmetic}")
        repeated = RunResult.from_record(worker_launch.do_run(of, again))
        if first := first_difference(RunResult.from_record(record), repeated):
            raise UserError(f"the run {of.title} does not repeat itself here: {first} differs")


def _constraints() -> str:
    return (suite.root() / "constraints.txt").read_text(encoding="utf-8")


def first_difference(expected: RunResult, observed: RunResult) -> str:
    """Return where two runs of one seed differ first, in words; empty: nowhere.

    How the lines are written that make updates is no number.
    """
    old, new = expected.trail, observed.trail
    if old is not None and new is not None:
        for row, of_old, of_new in zip(old.rows, _digests(old), _digests(new), strict=False):
            kinds = ("number", *KINDS)
            if differing := [k for k, a, b in zip(kinds, of_old, of_new, strict=True) if a != b]:
                update, line, *_ = row.split(" ")
                return f"update {update}, {differing[0]} ({old.names[int(line)]})"
    numbers = _numbers(observed)
    for name, value in _numbers(expected).items():
        if value != numbers[name]:
            return f"the {name.replace('_', ' ')} after the training"
    return ""


def _digests(trail: Trail) -> list[list[str]]:
    """Return the rows without the line that makes the update: its number, and the digests."""
    return [[update, *digests] for update, _, *digests in (row.split(" ") for row in trail.rows)]


def _numbers(run: RunResult) -> dict[str, Any]:
    """Return what two runs of one seed have to have in common, as plain data."""
    numbers = evidence.plain(asdict(run))
    numbers["trail"] = run.trail and [run.trail.updates, _digests(run.trail)]
    return {name: _known(value) for name, value in numbers.items() if name not in _MEASURED}


def _known(value: Any) -> Any:
    """Return a value without what is None, which a file of stored runs leaves out."""
    if isinstance(value, dict):
        return {name: _known(of) for name, of in value.items() if of is not None}
    return [_known(of) for of in value if of is not None] if isinstance(value, list) else value

"""Replays: a stored run is trained again here, and compared with its record to the last bit.

One run that has the numbers of its record shows that everything that it executes does what it did.
Its return is that of the record and never enters a sample of new runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from rlregress import evidence
from rlregress.errors import UserError
from rlregress.gate import baseline_runs
from rlregress.gate.baseline_runs import Baseline, StoredRun
from rlregress.inside.trail import KINDS
from rlregress.model.replays import DIFFERS, NOT_REPLAYED, Replay
from rlregress.model.verdict import REPRODUCED
from rlregress.training import job_plan, worker_launch
from rlregress.training.budgets import budget
from rlregress.training.cell import Cell, Job
from rlregress.training.recorded_runs import Run
from rlregress.training.store import Store

#: of a run, what says when it was made and how fast it was
_MEASURED = ("time", "seed", "sources", "lines")
#: modules of this suite, beside those of what is tested
_OWN = "rlregress."


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

    Raises:
        UserError: it was recorded with another protocol or with other hyperparameters, or the seed
            is none of those that are stored.
    """
    name = budget(cell.budget).replay
    if not name:
        return None
    replayed = replace(cell, budget=name)
    path = baseline_runs.path_of(replayed)
    if not path.exists():
        return None
    stored = baseline_runs.load(path)
    runs = {run.seed: run for run in stored.runs}
    if seed not in runs:
        raise UserError(
            f"--replay-seed is {seed}, expected a seed of {path}: {', '.join(map(str, runs))}"
        )
    [job] = job_plan.jobs(replayed, [seed])
    baseline_runs.check_protocol(stored, job.protocol)
    baseline_runs.check_hyperparameters(stored, job.hyperparameters)
    return Recorded(cell, stored, runs[seed], job)


def replay(of: Recorded, store: Store) -> Replay:
    """Return what the replay comes to; trains it unless this session has.

    Args:
        store: of the session alone: a replay is executed where it is judged.
    """
    record = worker_launch.run(of.job, store)
    known = {
        "cell": of.cell.id,
        "replayed": of.job.cell.id,
        "seed": of.job.seed,
        "moved": of.moved,
        "seconds": record["time"].get("cpu_seconds", 0.0),
    }
    arithmetic = record["platform"].get("arithmetic", "unknown: the training ended in an error")
    if arithmetic != of.stored.platform.get("arithmetic"):
        reason = f"this process does not compute as the record: {arithmetic}"
        return Replay(**known, state=NOT_REPLAYED, reason=reason)
    first = first_difference(of.run, Run.of(record))
    if not first:
        return _reproduced(of, record, known)
    again = worker_launch.run(of.job, Store(store.folder / "again"))
    if first_difference(Run.of(record), Run.of(again)):
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
    ran = sum(hit for hit, _ in lines.values())
    every = sum(of_all for _, of_all in lines.values())
    share = f"; {100 * ran // every} % of the lines of {_named(lines)} ran" if every else ""
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
        + share,
        not_checked=", ".join(not_checked),
        steps=record["steps"],
        lines=lines,
    )


def _named(lines: Mapping[str, Any]) -> str:
    names = sorted(name.rpartition("/")[2] for name in lines)
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def first_difference(expected: Run, observed: Run) -> str:
    """Return where two runs of one seed differ first, in words; empty: nowhere."""
    old, new = expected.trail, observed.trail
    if old is not None and new is not None:
        for of_old, of_new in zip(old.rows, new.rows, strict=False):
            if of_old != of_new or old.names != new.names:
                update, name, *digests = of_old.split(" ")
                changed = [
                    kind
                    for kind, a, b in zip(KINDS, digests, of_new.split(" ")[2:], strict=True)
                    if a != b
                ]
                if changed:
                    return f"update {update}, {changed[0]} ({old.names[int(name)]})"
    for name, value in _numbers(expected).items():
        if value != _numbers(observed)[name]:
            return f"the {name.replace('_', ' ')} after the training"
    return ""


def _numbers(run: Run) -> dict[str, Any]:
    """Return what two runs of one seed have to have in common, as plain data."""
    return {
        name: _known(value)
        for name, value in evidence.plain(asdict(run)).items()
        if name not in _MEASURED
    }


def _known(value: Any) -> Any:
    """Return a value without what is None, which a file of stored runs leaves out."""
    if isinstance(value, dict):
        return {
            name: _known(of) for name, of in value.items()
            if of is not None and name not in _MEASURED
        }  # fmt: skip
    return [_known(of) for of in value if of is not None] if isinstance(value, list) else value

"""Stored runs: ``baselines/returns/<cell id>.toml``, one file per cell; replays: beside it.

A file carries the raw values of every run and what it was recorded with, so that a verdict can be
traced to the numbers that it rests on. ``rlregress baseline record`` writes it, never a hand.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import tomli_w
from pydantic import Field

from rlregress import datafiles, suite
from rlregress.datafiles import Line, Number, Value, expected, one_of
from rlregress.errors import UserError
from rlregress.inside import machine, run_record
from rlregress.inside.diagnostics import DIAGNOSTICS
from rlregress.inside.worker import PORTABLE
from rlregress.model import quantities
from rlregress.model.quantities import CRITIC, RETURNS, TRAINING, Quantity
from rlregress.training import recorded_runs
from rlregress.training.budgets import MAX_SEEDS, load_budget
from rlregress.training.cell import Arithmetic, Cell, Job, Protocol
from rlregress.training.recorded_runs import RunResult
from rlregress.verdicts.rules import Rules

#: modules of this suite, beside those of what is tested
_OWN = "rlregress."
FINISHED = recorded_runs.FINISHED
#: new runs have seeds that no stored run has, so that the two samples are independent
FIRST_NEW_SEED = MAX_SEEDS
_AGAIN = "record it again, with --replace"


@dataclass(frozen=True, kw_only=True)
class StoredRun(RunResult):
    """One stored run.

    Attributes:
        seed: below those of new runs.
        sources: digests of the suite's own code, where it was another than that of the other runs.
    """

    seed: Annotated[int, Field(ge=0, lt=FIRST_NEW_SEED)]
    diagnostics: (
        Mapping[Annotated[str, one_of(tuple(quantities.DIAGNOSTICS))], Number | None] | None
    ) = None
    sources: Mapping[str, str] = field(default_factory=dict)


def numbers_of(run_record: Mapping[str, Any]) -> dict[Quantity, float]:
    """Return all that a record can be judged by; nan where it does not tell."""
    run = RunResult.from_record(run_record)
    return {quantity: run.number(quantity) for quantity in (RETURNS, *quantities.SECONDARY)}


def secondary_quantities(algorithm: str) -> tuple[Quantity, ...]:
    """What the runs of an algorithm can be judged by beside their returns."""
    return (TRAINING, CRITIC, *(quantities.DIAGNOSTICS[name] for name in DIAGNOSTICS[algorithm]))


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The stored runs of one cell: what they have in common, under the names of ``Job``, and each.

    Attributes:
        hyperparameters: as they were resolved for the runs.
        platform: of the machine of the runs, by the names of ``inside.machine``.
        seeds: how many runs there are.
    """

    schema: Annotated[int, expected(str(run_record.SCHEMA), lambda of: of == run_record.SCHEMA)]
    cell: Cell
    protocol: Protocol
    hyperparameters: Mapping[Line, Value]
    versions: Mapping[Line, Line]
    sources: Mapping[Line, Line]
    arithmetic: Arithmetic
    platform: Mapping[Line, recorded_runs.MachineFact]
    seeds: Annotated[int, Field(ge=1)]
    runs: Annotated[tuple[StoredRun, ...], Field(alias="run")]

    def __post_init__(self) -> None:
        seeds = [run.seed for run in self.runs]
        if len(seeds) != self.seeds or len(set(seeds)) < len(seeds):
            raise ValueError(
                f"found runs of the seeds {seeds}, expected {self.seeds} distinct ones"
            )

    @property
    def returns(self) -> list[float]:
        """Final return of every run that ended well, by seed."""
        returns = (run.final_return for run in self.runs if run.status == FINISHED)
        return [value for value in returns if value is not None]

    def numbers(self, quantity: Quantity) -> list[float]:
        """What every run is judged by, by seed; nan for one that has no number, or failed."""
        if quantity is RETURNS:
            return self.returns + [math.nan] * self.failed
        return [run.number(quantity) for run in self.runs]

    def why_not(self, quantity: Quantity) -> str:
        """Why new runs cannot be compared with these by a quantity, in words; empty: they can.

        Args:
            quantity: one that the algorithm has.
        """
        ended = [run for run in self.runs if run.status == FINISHED]
        if quantity is RETURNS:
            return ""
        if not all(run.has_value_of(quantity) for run in ended):
            return "its stored runs are older and tell nothing about it; record them again"
        numbers = [run.number(quantity) for run in ended]
        if not any(map(math.isnan, numbers)):
            if not ended:
                return "all of its stored runs failed"
            far = quantity.largest_loss(numbers) < Rules().must_detect
            return "its stored critics are as far off as is counted" if far else ""
        if quantity is CRITIC:
            return f"the returns of {_without(numbers)} do not vary from state to state"
        if not all(map(math.isnan, numbers)):
            return f"it is missing in {_without(numbers)}"
        return "its framework does not expose it"

    @property
    def failed(self) -> int:
        """How many of the runs failed."""
        return sum(run.status != FINISHED for run in self.runs)

    @property
    def cpu_seconds(self) -> float:
        """Median CPU seconds of a run, for planning."""
        seconds = sorted(run.time.cpu_seconds for run in self.runs)
        return float(seconds[len(seconds) // 2])


def _without(numbers: Sequence[float]) -> str:
    """The stored runs that have no number, of one number each, in words."""
    count = sum(map(math.isnan, numbers))
    return f"{count} of {len(numbers)} stored runs" if count < len(numbers) else "its stored runs"


def folder() -> Path:
    """Where the stored runs lie."""
    return suite.baselines() / "returns"


def path_of(cell: Cell) -> Path:
    """The file of a cell, whether it exists or not."""
    replayed = load_budget(cell.budget).arithmetic == PORTABLE
    return (folder().with_name("replays") if replayed else folder()) / f"{cell.id}.toml"


def load(path: Path) -> Baseline:
    """Read and validate a file; UserError that names the file, the place and what was expected."""
    stored: Baseline = datafiles.remembered(path, Baseline, remedy=_AGAIN)
    if path.stem != stored.cell.id:
        raise UserError(
            f"{path} holds the cell {stored.cell.id}; expected the cell that names the file"
        )
    return stored


def find(cell: Cell, protocol: Protocol) -> Baseline | None:
    """The stored runs of ``cell``, or None; UserError if they were made with another protocol."""
    path = path_of(cell)
    if not path.exists():
        return None
    stored = load(path)
    check_protocol(stored, protocol)
    return stored


def check_protocol(stored: Baseline, protocol: Protocol) -> None:
    """UserError if the runs were made with another protocol."""
    if stored.protocol != protocol:
        raise UserError(
            f"{path_of(stored.cell)} was recorded with another budget: found "
            f"{asdict(stored.protocol)}, expected {asdict(protocol)}; {_AGAIN}"
        )


def how_to_record(cell: Cell) -> str:
    """What to do about a cell without stored runs, in one sentence."""
    own = {**asdict(cell), "budget": ""}
    others = sorted(
        stored.cell.budget for stored in every() if {**asdict(stored.cell), "budget": ""} == own
    )
    there = f"there are stored runs of budget {', '.join(others)}; " if others else ""
    foreign = cell.hyperparameters != cell.framework
    named = f" --hyperparameters {cell.hyperparameters}" if foreign else ""
    return (
        f"no stored runs of {cell.id}; {there}record some with: rlregress baseline record "
        f"--framework {cell.framework} --algorithm {cell.algorithm} "
        f"--environment {cell.environment} --budget {cell.budget}{named}"
    )


def _without_null(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no null: what is switched off is written as ``none``."""
    return {name: "none" if value is None else value for name, value in hyperparameters.items()}


def check_hyperparameters(stored: Baseline, given: Mapping[str, Any]) -> None:
    """UserError if the runs were recorded with other hyperparameters than ``given``."""
    expected = _without_null(given)
    differing = sorted(
        f"{name} ({stored.hyperparameters.get(name)}, now {expected.get(name)})"
        for name in set(expected) | set(stored.hyperparameters)
        if expected.get(name) != stored.hyperparameters.get(name)
    )
    if differing:
        raise UserError(
            f"{path_of(stored.cell)} was recorded with other hyperparameters: "
            f"{', '.join(differing)}; {_AGAIN}"
        )


def seconds_per_step(cell: Cell, known: Sequence[Baseline]) -> float:
    """CPU seconds per environment step, the mean over the stored runs most alike; 0 without any.

    Those of the cell; else of its environment and hyperparameters at another budget; else of its
    framework and algorithm; else of its algorithm.
    """
    its_own = ("group", "environment", "hyperparameters")
    for same_keys in ((*its_own, "budget"), its_own, ("group",), ("algorithm",)):
        speeds = [
            stored.cpu_seconds / stored.protocol.total_steps
            for stored in known
            if all(getattr(stored.cell, name) == getattr(cell, name) for name in same_keys)
        ]
        if speeds:
            return sum(speeds) / len(speeds)
    return 0.0


def every() -> list[Baseline]:
    """All stored cells, by id."""
    return [load(path) for path in datafiles.listed(folder(), "*.toml")]


def _of_framework(sources: Mapping[str, str]) -> dict[str, str]:
    """The digests of what is tested, without those of the suite's own code."""
    return {name: digest for name, digest in sources.items() if not name.startswith(_OWN)}


def _differs(stored: Baseline, job: Job) -> list[str]:
    """Return what stored runs were done with and a job is not, in words."""
    same = {
        f"{dict(stored.versions)}, here {dict(job.versions)}": stored.versions == job.versions,
        "other code of the framework": _of_framework(stored.sources) == _of_framework(job.sources),
        "another protocol": stored.protocol == job.protocol,
        "other hyperparameters": stored.hyperparameters == _without_null(job.hyperparameters),
        "another arithmetic": stored.arithmetic == job.arithmetic,
    }
    return [what for what, is_same in same.items() if not is_same]


def kept(jobs: Sequence[Job]) -> dict[int, StoredRun]:
    """Stored runs of a cell that need not be done again, by seed, each with its ``sources``.

    They were done with the framework, the versions, the protocol and the hyperparameters of
    ``jobs``, and tell all that runs tell now. The suite's own code may have been another: what a
    run was done with stands beside it.
    """
    path, job = path_of(jobs[0].cell), jobs[0]
    if not path.exists():
        return {}
    stored = load(path)
    secondary = secondary_quantities(job.cell.algorithm)
    seeds = set() if _differs(stored, job) else {job.seed for job in jobs}
    return {
        run.seed: replace(run, sources=run.sources or stored.sources)
        for run in stored.runs
        if run.seed in seeds
        and run.status == FINISHED
        and all(run.has_value_of(quantity) for quantity in secondary)
    }


def _without_nothing(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known: TOML has no null."""
    known = {
        name: _without_nothing(value) if isinstance(value, dict) else value
        for name, value in table.items()
        if value is not None and value not in ("", ())
    }
    return known


def check_machine(cell: Cell, earlier: Mapping[int, StoredRun]) -> None:
    """UserError if earlier runs would be joined with runs of another processor or Python."""
    if not earlier:
        return
    there, path = load(path_of(cell)).platform, path_of(cell)
    here = {"cpu": machine.cpu_name(), "python": platform.python_version()}
    for name, value in here.items():
        if there.get(name, value) != value:
            raise UserError(
                f"{path} holds {len(earlier)} runs of {machine.text(there)}, and this is "
                f"{machine.text(here)}; go on where they were done, or give --replace to do all of "
                "them here"
            )


def check_replaceable(jobs: Sequence[Job]) -> None:
    """UserError if stored runs would be lost: of other seeds than ``jobs``, or done otherwise."""
    path = path_of(jobs[0].cell)
    if not path.exists():
        return
    stored = load(path)
    differs = _differs(stored, jobs[0])
    lost = sorted({run.seed for run in stored.runs} - {job.seed for job in jobs})
    if lost:
        differs.append(f"seeds that are not asked for: {', '.join(map(str, lost))}")
    if differs:
        raise UserError(
            f"{path} holds {len(stored.runs)} runs of {'; '.join(differs)}; {len(jobs)} new ones "
            "would replace them: give --replace if that is meant"
        )


def write(
    jobs: Sequence[Job],
    records: Sequence[Mapping[str, Any]],
    earlier: Mapping[int, StoredRun] = MappingProxyType({}),
) -> Path:
    """Write the stored runs of one cell out of the records of ``jobs``, by seed.

    Args:
        earlier: of ``kept``; their machine has been compared with this one (``check_machine``).

    Raises:
        UserError: the runs were not made on one kind of machine with one set of versions.
    """
    pairs = sorted(zip(jobs, records, strict=True), key=lambda pair: pair[0].seed)
    machines = [_without_nothing(run_record["platform"]) for _, run_record in pairs]
    for found in machines:
        if found != machines[0]:
            raise UserError(
                f"the runs of {jobs[0].cell.id} differ in what they were recorded with: "
                f"{machines[0]} and {found}; record all of them on one machine"
            )
    common = pairs[0][0].as_dict()
    del common["seed"]
    runs = [
        StoredRun(seed=job.seed, **vars(RunResult.from_record(record))) for job, record in pairs
    ]
    runs += [
        replace(run, sources={} if run.sources == common["sources"] else run.sources)
        for run in earlier.values()
    ]
    tables = [{"seed": run.seed, **asdict(run)} for run in sorted(runs, key=lambda run: run.seed)]
    for table in tables:
        # a run that diverged has returns that are no numbers
        table["episode_returns"] = [r for r in table["episode_returns"] if r is not None]
        if not table["sources"]:
            del table["sources"]
    content = {
        "schema": run_record.SCHEMA,
        **common,
        "hyperparameters": _without_null(common["hyperparameters"]),
        "platform": machines[0],
        "seeds": len(runs),
        "run": [_without_nothing(table) for table in tables],
    }
    path = path_of(pairs[0][0].cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    run_record.write_atomically(path, tomli_w.dumps(content))
    return path

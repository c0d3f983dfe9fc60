"""Stored runs of cells in ``baselines/returns/<cell id>.toml``, and replays in ``replays``.

A file holds the raw values of every run and how it was recorded, so that a verdict can be traced to
its numbers. Only ``rlregress baseline record`` writes it.
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
from rlregress.datafiles import Line, Number, Value, expect_one_of, expect_value
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

#: modules of this suite, as opposed to those under test
_SUITE_PREFIX = "rlregress."
FINISHED = recorded_runs.FINISHED
#: new runs never share seeds with stored runs, so that the two samples are independent
FIRST_NEW_SEED = MAX_SEEDS
_RERECORD = "record it again, with --replace"


@dataclass(frozen=True, kw_only=True)
class StoredRun(RunResult):
    """One stored run.

    Attributes:
        seed: smaller than all seeds of new runs.
        sources: digests of the suite's own code, if it differed from that of the other runs.
    """

    seed: Annotated[int, Field(ge=0, lt=FIRST_NEW_SEED)]
    diagnostics: (
        Mapping[Annotated[str, expect_one_of(tuple(quantities.DIAGNOSTICS))], Number | None] | None
    ) = None
    sources: Mapping[str, str] = field(default_factory=dict)


def read_judged_numbers(run_record: Mapping[str, Any]) -> dict[Quantity, float]:
    """Return every number that a record can be judged by; nan where it has none."""
    run = RunResult.make_from_record(run_record)
    return {quantity: run.get_value_of(quantity) for quantity in (RETURNS, *quantities.SECONDARY)}


def list_secondary_quantities(algorithm: str) -> tuple[Quantity, ...]:
    """Return the quantities besides returns by which runs of an algorithm can be judged."""
    return (TRAINING, CRITIC, *(quantities.DIAGNOSTICS[name] for name in DIAGNOSTICS[algorithm]))


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The stored runs of one cell. Common properties have the names of ``Job``.

    Attributes:
        hyperparameters: the resolved ones.
        platform: of the machine of the runs, by the names of ``inside.machine``.
        seeds: how many runs there are.
    """

    schema: Annotated[
        int, expect_value(str(run_record.SCHEMA), lambda schema: schema == run_record.SCHEMA)
    ]
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
        """Final returns of the runs that did not fail, by seed."""
        returns = (run.final_return for run in self.runs if run.status == FINISHED)
        return [value for value in returns if value is not None]

    def list_values_of_quantity(self, quantity: Quantity) -> list[float]:
        """Return the values of a quantity, by seed; nan for runs that failed or have none."""
        if quantity is RETURNS:
            # a final return that is None cannot be told from a failed run
            return self.returns + [math.nan] * self.failed_count
        return [run.get_value_of(quantity) for run in self.runs]

    def explain_excluded_quantity(self, quantity: Quantity) -> str:
        """Explain why new runs cannot be compared with these by a quantity; empty if they can.

        Args:
            quantity: a quantity of the algorithm.
        """
        finished = [run for run in self.runs if run.status == FINISHED]
        if quantity is RETURNS:
            return ""
        if not all(run.has_value_of(quantity) for run in finished):
            return "its stored runs are older and lack it; record them again"
        numbers = [run.get_value_of(quantity) for run in finished]
        if not any(map(math.isnan, numbers)):
            if not finished:
                return "all of its stored runs failed"
            is_too_far = quantity.compute_largest_loss(numbers) < Rules().must_detect
            return "the errors of its stored critics exceed the counted range" if is_too_far else ""
        runs = _describe_runs_without_number(numbers)
        if quantity is CRITIC:
            return f"the returns of {runs} do not vary from state to state"
        if not all(map(math.isnan, numbers)):
            return f"it is missing in {runs}"
        return "its framework does not expose it"

    @property
    def failed_count(self) -> int:
        """Number of failed runs."""
        return sum(run.status != FINISHED for run in self.runs)

    @property
    def median_cpu_seconds(self) -> float:
        """Median CPU seconds of a run, for planning."""
        seconds = sorted(run.time.cpu_seconds for run in self.runs)
        return float(seconds[len(seconds) // 2])


def _describe_runs_without_number(numbers: Sequence[float]) -> str:
    """Describe the stored runs that have no number."""
    count = sum(map(math.isnan, numbers))
    return f"{count} of {len(numbers)} stored runs" if count < len(numbers) else "its stored runs"


def locate_returns_folder() -> Path:
    """Return the folder of the stored runs."""
    return suite.locate_baselines() / "returns"


def locate_baseline(cell: Cell) -> Path:
    """Return the path of a cell's file, whether it exists or not."""
    replayed = load_budget(cell.budget).arithmetic == PORTABLE
    return (
        locate_returns_folder().with_name("replays") if replayed else locate_returns_folder()
    ) / f"{cell.id}.toml"


def load_baseline(path: Path) -> Baseline:
    """Read and validate a file. UserError names file, place and expectation."""
    stored: Baseline = datafiles.read_data_file_cached(path, Baseline, remedy=_RERECORD)
    if path.stem != stored.cell.id:
        raise UserError(
            f"{path} holds the cell {stored.cell.id}; expected the cell of the file name"
        )
    return stored


def find_baseline(cell: Cell, protocol: Protocol) -> Baseline | None:
    """Return the stored runs of ``cell``, or None; UserError if their protocol differs."""
    path = locate_baseline(cell)
    if not path.exists():
        return None
    stored = load_baseline(path)
    check_same_protocol(stored, protocol)
    return stored


def check_same_protocol(stored: Baseline, protocol: Protocol) -> None:
    """Raise UserError if the runs were made with another protocol."""
    if stored.protocol != protocol:
        raise UserError(
            f"{locate_baseline(stored.cell)} was recorded with another budget: found "
            f"{asdict(stored.protocol)}, expected {asdict(protocol)}; {_RERECORD}"
        )


def suggest_recording_of_cell(cell: Cell) -> str:
    """Suggest in one sentence how to record a cell without stored runs."""
    key_fields = {**asdict(cell), "budget": ""}
    other_budgets = sorted(
        stored.cell.budget
        for stored in load_all_baselines()
        if {**asdict(stored.cell), "budget": ""} == key_fields
    )
    hint = f"there are stored runs of budget {', '.join(other_budgets)}; " if other_budgets else ""
    is_other_set = cell.hyperparameters != cell.framework
    set_option = f" --hyperparameters {cell.hyperparameters}" if is_other_set else ""
    return (
        f"no stored runs of {cell.id}; {hint}record some with: rlregress baseline record "
        f"--framework {cell.framework} --algorithm {cell.algorithm} "
        f"--environment {cell.environment} --budget {cell.budget}{set_option}"
    )


def _replace_null_by_text_none(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters with the text ``none`` for None, because TOML has no null."""
    return {name: "none" if value is None else value for name, value in hyperparameters.items()}


def check_same_hyperparameters(stored: Baseline, current: Mapping[str, Any]) -> None:
    """Raise UserError if the runs were recorded with other hyperparameters."""
    expected = _replace_null_by_text_none(current)
    differing = sorted(
        f"{name} ({stored.hyperparameters.get(name)}, now {expected.get(name)})"
        for name in set(expected) | set(stored.hyperparameters)
        if expected.get(name) != stored.hyperparameters.get(name)
    )
    if differing:
        raise UserError(
            f"{locate_baseline(stored.cell)} was recorded with other hyperparameters: "
            f"{', '.join(differing)}; {_RERECORD}"
        )


def estimate_seconds_per_step(cell: Cell, baselines: Sequence[Baseline]) -> float:
    """Return CPU seconds per environment step, the mean over the most similar stored runs; else 0.

    Most similar are those of the cell; else of its environment and hyperparameters at another
    budget; else of its framework and algorithm; else of its algorithm.
    """
    cell_keys = ("group", "environment", "hyperparameters")
    for same_keys in ((*cell_keys, "budget"), cell_keys, ("group",), ("algorithm",)):
        speeds = [
            stored.median_cpu_seconds / stored.protocol.total_steps
            for stored in baselines
            if all(getattr(stored.cell, name) == getattr(cell, name) for name in same_keys)
        ]
        if speeds:
            return sum(speeds) / len(speeds)
    return 0.0


def load_all_baselines() -> list[Baseline]:
    """Load all stored cells, ordered by id."""
    return [
        load_baseline(path)
        for path in datafiles.list_files_by_name(locate_returns_folder(), "*.toml")
    ]


def _select_framework_sources(sources: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of the code under test, without the digest of the suite's own code."""
    return {name: digest for name, digest in sources.items() if not name.startswith(_SUITE_PREFIX)}


def _list_differences_from_job(stored: Baseline, job: Job) -> list[str]:
    """List how stored runs were done differently from a job."""
    same = {
        f"{dict(stored.versions)}, here {dict(job.versions)}": stored.versions == job.versions,
        "other code of the framework": _select_framework_sources(stored.sources)
        == _select_framework_sources(job.sources),
        "another protocol": stored.protocol == job.protocol,
        "other hyperparameters": stored.hyperparameters
        == _replace_null_by_text_none(job.hyperparameters),
        "another arithmetic": stored.arithmetic == job.arithmetic,
    }
    return [difference for difference, is_same in same.items() if not is_same]


def find_reusable_runs_by_seed(jobs: Sequence[Job]) -> dict[int, StoredRun]:
    """Return stored runs that need not be done again, by seed, each with its ``sources``.

    A run is reusable if it finished, had the framework, versions, protocol and hyperparameters of
    its job, and has every number that new runs get. The suite's own code may differ: ``sources``
    records it.

    Args:
        jobs: runs of one cell.
    """
    path, job = locate_baseline(jobs[0].cell), jobs[0]
    if not path.exists():
        return {}
    stored = load_baseline(path)
    secondary = list_secondary_quantities(job.cell.algorithm)
    seeds = set() if _list_differences_from_job(stored, job) else {job.seed for job in jobs}
    return {
        run.seed: replace(run, sources=run.sources or stored.sources)
        for run in stored.runs
        if run.seed in seeds
        and run.status == FINISHED
        and all(run.has_value_of(quantity) for quantity in secondary)
    }


def _drop_empty_values(table: Mapping[str, Any]) -> dict[str, Any]:
    """Drop empty values, because TOML has no null."""
    return {
        name: _drop_empty_values(value) if isinstance(value, dict) else value
        for name, value in table.items()
        if value is not None and value not in ("", ())
    }


def check_same_machine(cell: Cell, earlier: Mapping[int, StoredRun]) -> None:
    """Raise UserError if earlier runs come from another processor or Python than this one."""
    if not earlier:
        return
    stored_platform, path = load_baseline(locate_baseline(cell)).platform, locate_baseline(cell)
    local_platform = {"cpu": machine.read_cpu_name(), "python": platform.python_version()}
    for name, value in local_platform.items():
        if stored_platform.get(name, value) != value:
            raise UserError(
                f"{path} holds {len(earlier)} runs of "
                f"{machine.format_machine_in_words(stored_platform)}, and this is "
                f"{machine.format_machine_in_words(local_platform)}; continue on that machine, "
                "or give --replace to do all of them here"
            )


def check_no_runs_are_lost(jobs: Sequence[Job]) -> None:
    """Raise UserError if stored runs with other seeds or settings than ``jobs`` would be lost."""
    path = locate_baseline(jobs[0].cell)
    if not path.exists():
        return
    stored = load_baseline(path)
    differences = _list_differences_from_job(stored, jobs[0])
    lost_seeds = sorted({run.seed for run in stored.runs} - {job.seed for job in jobs})
    if lost_seeds:
        differences.append(f"seeds that were not requested: {', '.join(map(str, lost_seeds))}")
    if differences:
        raise UserError(
            f"{path} holds {len(stored.runs)} runs of {'; '.join(differences)}; {len(jobs)} new "
            "ones would replace them: give --replace to allow that"
        )


def write_baseline(
    jobs: Sequence[Job],
    records: Sequence[Mapping[str, Any]],
    earlier: Mapping[int, StoredRun] = MappingProxyType({}),
) -> Path:
    """Write the stored runs of one cell from the records of ``jobs``, by seed.

    Args:
        earlier: result of ``find_reusable_runs_by_seed``, after ``check_same_machine``.

    Raises:
        UserError: the runs were not made on one kind of machine with one set of versions.
    """
    pairs = sorted(zip(jobs, records, strict=True), key=lambda pair: pair[0].seed)
    machines = [_drop_empty_values(run_record["platform"]) for _, run_record in pairs]
    for platform_of_run in machines:
        if platform_of_run != machines[0]:
            raise UserError(
                f"the runs of {jobs[0].cell.id} come from different machines or versions: "
                f"{machines[0]} and {platform_of_run}; record all of them on one machine"
            )
    common = pairs[0][0].convert_to_plain_data()
    del common["seed"]
    runs = [
        StoredRun(seed=job.seed, **vars(RunResult.make_from_record(record)))
        for job, record in pairs
    ]
    runs += [
        replace(run, sources={} if run.sources == common["sources"] else run.sources)
        for run in earlier.values()
    ]
    tables = [{"seed": run.seed, **asdict(run)} for run in sorted(runs, key=lambda run: run.seed)]
    for table in tables:
        # a diverged run has returns that are not finite
        table["episode_returns"] = [r for r in table["episode_returns"] if r is not None]
        if not table["sources"]:
            del table["sources"]
    content = {
        "schema": run_record.SCHEMA,
        **common,
        "hyperparameters": _replace_null_by_text_none(common["hyperparameters"]),
        "platform": machines[0],
        "seeds": len(runs),
        "run": [_drop_empty_values(table) for table in tables],
    }
    path = locate_baseline(pairs[0][0].cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    run_record.write_text_atomically(path, tomli_w.dumps(content))
    return path

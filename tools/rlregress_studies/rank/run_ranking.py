"""Ranks implementations on one or several environments by existing runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from rlregress import datafiles, frameworks, progress
from rlregress.check import baseline_runs
from rlregress.datafiles import Number, Text, expect_value
from rlregress.errors import UserError, suggest_names
from rlregress.training import budgets, recorded_runs
from rlregress.training.cell import Cell, Job, Protocol
from rlregress_studies.rank import adastop
from rlregress_studies.rank.adastop import AdastopPlan
from rlregress_studies.rank.ranking_result import (
    Decision,
    RankedImplementation,
    Ranking,
    TaskRanking,
)

#: squares of larger returns overflow
_LARGEST = 1e100


@dataclass(frozen=True)
class ImplementationRun:
    """One run of one implementation.

    Attributes:
        task: environment and budget; only runs of one task are compared.
        final_return: None if the run failed.
    """

    implementation: str
    environment: str
    task: str
    seed: int
    final_return: float | None


#: A name without the spaces around it.
_Name = Annotated[
    Text,
    AfterValidator(str.strip),
    expect_value("text on one line without control characters", str.isprintable),
]


@dataclass(frozen=True)
class _Row:
    implementation: _Name
    environment: _Name
    seed: Annotated[int, Field(ge=0)]
    final_return: Annotated[Number, Field(alias="return")]


def read_runs_of_csv(path: Path) -> list[ImplementationRun]:
    """Read the runs of a CSV file with columns implementation, environment, seed and return.

    Raises:
        UserError: the file cannot be read, or a line does not fit.
    """
    remedy = "write the columns implementation,environment,seed,return, and a run a line"
    if path.suffix.lower() != ".csv":
        raise UserError(f"{path} is not named .csv; expected a CSV file: {remedy}")
    rows: tuple[_Row, ...] = datafiles.read_data_file(path, tuple[_Row, ...], remedy=remedy)
    return [
        ImplementationRun(
            row.implementation, row.environment, row.environment, row.seed, row.final_return
        )
        for row in rows
    ]


def name_implementation(cell: Cell) -> str:
    """Return framework and algorithm, and the hyperparameter set if it is not the own one."""
    own = cell.hyperparameters == cell.framework
    return cell.group if own else f"{cell.group}-{cell.hyperparameters}"


def make_task_key(cell: Cell, protocol: Protocol) -> str:
    """Return environment, step budget and evaluation episodes, which must agree within a task."""
    return (
        f"{cell.environment} ({protocol.total_steps} steps, "
        f"{protocol.evaluation_episodes} episodes)"
    )


def convert_baselines_to_runs(
    stored: Iterable[baseline_runs.Baseline],
    implementation: Callable[[Cell], str] = name_implementation,
    task: Callable[[Cell, Protocol], str] = make_task_key,
) -> list[ImplementationRun]:
    """Return the runs of ``baselines/returns`` under names of implementations and tasks."""
    return [
        ImplementationRun(
            implementation(baseline.cell),
            baseline.cell.environment,
            task(baseline.cell, baseline.protocol),
            run.seed,
            run.final_return,
        )
        for baseline in stored
        for run in baseline.runs
    ]


def _collect_code_properties(job: Job) -> dict[str, str]:
    """Return the properties of an implementation beyond its cell, as texts."""
    parts = {**job.versions, **job.sources, **job.hyperparameters}
    return {name: json.dumps(value).strip('"') for name, value in parts.items()}


def load_run_records(folder: Path) -> list[tuple[Job, dict[str, Any]]]:
    """Return the run records of a folder, each with its run.

    Raises:
        UserError: there are no records, or one is damaged.
    """
    paths = recorded_runs.list_record_files(folder)
    if not paths:
        raise UserError(
            f"{folder} holds no run records; expected a folder that was the --store of a command"
        )
    return [recorded_runs.read_run_and_record(path) for path in paths]


def convert_records_to_runs(
    run_records: Sequence[tuple[Job, dict[str, Any]]],
) -> list[ImplementationRun]:
    """Convert run records to runs of implementations.

    If a cell was run with several versions or hyperparameters, each is a separate implementation,
    named by its differences.
    """
    codes: dict[Cell, list[dict[str, str]]] = {}
    for job, _ in run_records:
        codes.setdefault(job.cell, []).append(_collect_code_properties(job))
    runs = []
    for job, stored in run_records:
        cell, own = job.cell, _collect_code_properties(job)
        differing = sorted(
            f"{name} {value}"
            for name, value in own.items()
            if any(code.get(name) != value for code in codes[cell])
        )
        name = name_implementation(cell) + (f" ({', '.join(differing)})" if differing else "")
        task = make_task_key(cell, job.protocol)
        runs.append(
            ImplementationRun(name, cell.environment, task, job.seed, stored["final_return"])
        )
    return runs


def select_runs_by_environment(
    runs: Sequence[ImplementationRun], environments: Sequence[str]
) -> list[ImplementationRun]:
    """Return the runs on the named environments, without names all; UserError if unknown."""
    known_environments = {run.environment for run in runs}
    for name in environments:
        if name not in known_environments:
            raise UserError(
                f"there are no runs on environment '{name}'; "
                f"{suggest_names(name, known_environments)}"
            )
    return [run for run in runs if not environments or run.environment in environments]


@dataclass(frozen=True)
class RunFilter:
    """The stored runs to rank; empty sequences mean no restriction."""

    frameworks: Sequence[str]
    algorithms: Sequence[str]
    budget: str

    def selects_cell(self, cell: Cell) -> bool:
        return (
            (not self.frameworks or cell.framework in self.frameworks)
            and (not self.algorithms or cell.algorithm in self.algorithms)
            and cell.budget == self.budget
        )


def read_runs_and_missing_names(
    store: str, run_filter: RunFilter, environments: Sequence[str]
) -> tuple[list[ImplementationRun], str]:
    """Return runs of a store, by default of ``baselines/returns``, and missing combinations.

    Raises:
        UserError: a name is unknown, or no runs are left.
    """
    budgets.load_budget(run_filter.budget)
    for name in run_filter.frameworks:
        frameworks.get_adapter(name)
    if store:
        all_records = load_run_records(Path(store))
        cells = {job.cell for job, _ in all_records}
        runs = convert_records_to_runs(
            [record for record in all_records if run_filter.selects_cell(record[0].cell)]
        )
    else:
        stored = baseline_runs.load_all_baselines()
        cells = {stored_cell.cell for stored_cell in stored}
        runs = convert_baselines_to_runs(
            stored_cell for stored_cell in stored if run_filter.selects_cell(stored_cell.cell)
        )
    place = store or str(baseline_runs.locate_returns_folder())
    _check_names_are_known(run_filter, cells, place)
    if not runs:
        raise UserError(
            f"no runs of budget '{run_filter.budget}' are left after --framework and --algorithm "
            f"in {place}; record some with: rlregress baseline record"
        )
    runs = select_runs_by_environment(runs, environments)
    lacking = ", ".join(_list_combinations_without_runs(run_filter, cells, environments))
    return (
        runs,
        f"{place} has no runs of budget '{run_filter.budget}' of {lacking}" if lacking else "",
    )


def _check_names_are_known(run_filter: RunFilter, cells: Iterable[Cell], place: str) -> None:
    """Raise UserError for a framework or an algorithm without any run."""
    for names, name in ((run_filter.frameworks, "framework"), (run_filter.algorithms, "algorithm")):
        known_names = {getattr(cell, name) for cell in cells}
        for requested in names:
            if requested not in known_names:
                raise UserError(
                    f"{place} has no runs of {name} '{requested}'; "
                    f"{suggest_names(requested, known_names)}"
                )


def _list_combinations_without_runs(
    run_filter: RunFilter, cells: Iterable[Cell], environments: Sequence[str]
) -> list[str]:
    """Return the requested combinations of names without runs."""
    existing = [
        (cell.framework, cell.algorithm, cell.environment)
        for cell in cells
        if run_filter.selects_cell(cell)
    ]
    # no names: all of them
    requested = (run_filter.frameworks or [""], run_filter.algorithms or [""], environments or [""])
    return [
        " ".join(filter(None, names))
        for names in itertools.product(*requested)
        if not any(
            all(name in ("", cell_runs) for name, cell_runs in zip(names, cell, strict=True))
            for cell in existing
        )
    ]


def check_returns_are_comparable(runs: Iterable[ImplementationRun]) -> None:
    """Raise UserError if a return is too large to be compared."""
    for run in runs:
        if run.final_return is not None and abs(run.final_return) > _LARGEST:
            raise UserError(
                f"the return {run.final_return:g} of {run.implementation} on {run.task} with seed "
                f"{run.seed} is too large to be compared; expected returns between -{_LARGEST:g} "
                f"and {_LARGEST:g}; correct it, or leave the run out"
            )


def _group_returns_by_task(
    runs: Iterable[ImplementationRun],
) -> dict[str, dict[str, dict[int, float | None]]]:
    """Return task -> implementation -> seed -> final return."""
    tasks: dict[str, dict[str, dict[int, float | None]]] = {}
    for run in runs:
        seeds = tasks.setdefault(run.task, {}).setdefault(run.implementation, {})
        if run.seed in seeds:
            raise UserError(
                f"there are two runs of {run.implementation} on {run.task} with seed {run.seed}; "
                "expected one run of each seed; remove one of them"
            )
        seeds[run.seed] = run.final_return
    return tasks


def _replace_failed_returns(
    task: str, returns: dict[str, dict[int, float | None]]
) -> dict[str, list[float]]:
    """Return implementation -> returns by seed, failed runs as the task's worst return."""
    finished = [
        value for seeds in returns.values() for value in seeds.values() if value is not None
    ]
    if not finished:
        raise UserError(
            f"every run on {task} failed and there is nothing to compare; leave it out, or add "
            "runs that finish"
        )
    worst = min(finished)
    return {
        name: [worst if (value := seeds[seed]) is None else value for seed in sorted(seeds)]
        for name, seeds in returns.items()
    }


def _count_possible_looks(returns: dict[str, dict[str, list[float]]], runs: int) -> int:
    """Return the number of looks that all implementations have runs for; UserError if 0."""
    count, name, task = min(
        (len(values), name, task)
        for task, task_runs in returns.items()
        for name, values in task_runs.items()
    )
    if count < runs:
        raise UserError(
            f"{name} has {count} runs on {task}, and a look needs {runs} of each implementation; "
            "add runs, leave it out, or look at fewer with --runs"
        )
    return count // runs


def rank_implementations(
    runs: Sequence[ImplementationRun],
    per_look: int = 5,
    looks: int | None = None,
    alpha: float = 0.05,
    beta: float = 0.0,
    log: Callable[[str], None] = lambda line: None,
) -> Ranking:
    """Compare all implementations of each task in pairs; all pairs of all tasks are one family.

    Args:
        runs: runs of at least two implementations on some task.
        per_look: new runs of each implementation at each look.
        looks: number of planned looks; None: as many as every implementation has runs for.
        alpha: probability of separating one or more pairs that are equal.
        beta: probability of accepting a pair early; see ``adastop.AdastopPlan``.
        log: called with lines of progress if there are many pairs.

    Raises:
        UserError: nothing can be compared, or the plan could not separate anything.
    """
    check_returns_are_comparable(runs)
    tasks = _group_returns_by_task(runs)
    alone = tuple(sorted(task for task, task_runs in tasks.items() if len(task_runs) < 2))
    shared = {task: tasks[task] for task in sorted(tasks) if task not in alone}
    if not shared:
        count_text = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
        raise UserError(
            f"there is nothing to rank: {count_text}, and no environment and budget has runs of "
            "two implementations; add runs of another one"
        )
    returns = {task: _replace_failed_returns(task, task_runs) for task, task_runs in shared.items()}
    most = _count_possible_looks(returns, per_look)
    plan = AdastopPlan(
        runs=per_look, looks=most if looks is None else looks, alpha=alpha, beta=beta
    )

    places: list[tuple[str, str]] = []
    samples: list[np.ndarray] = []
    pairs: list[tuple[int, int]] = []
    for task, task_runs in returns.items():
        start = len(places)
        places += [(task, name) for name in sorted(task_runs)]
        samples += [np.array(task_runs[name]) for _, name in places[start:]]
        pairs += itertools.combinations(range(start, len(places)), 2)
    with progress.show_progress(log):
        progress.begin_stage("deciding pairs", len(pairs))
        compared = adastop.compare_samples(samples, pairs, plan, progress.count_done_parts)

    decisions = len(compared.looks)
    decided: dict[str, list[Decision]] = {task: [] for task in returns}
    looked_at = dict.fromkeys(places, 1)
    for pair in compared.pairs:
        task, first = places[pair.first]
        second = places[pair.second][1]
        decided[task].append(
            Decision(first=first, second=second, decision=pair.decision, look=pair.look)
        )
        for place in (places[pair.first], places[pair.second]):
            looked_at[place] = max(looked_at[place], pair.look or decisions)
    return Ranking(
        plan=plan,
        tasks=tuple(
            TaskRanking(
                name=task,
                standings=tuple(
                    sorted(
                        (
                            _build_ranked_implementation(
                                name, values, shared[task][name], looked_at[task, name] * per_look
                            )
                            for name, values in task_runs.items()
                        ),
                        key=lambda ranked: (-ranked.mean, ranked.implementation),
                    )
                ),
                decisions=tuple(decided[task]),
            )
            for task, task_runs in returns.items()
        ),
        looks=decisions,
        boundaries=tuple((look.lower, look.upper) for look in compared.looks),
        alone=alone,
    )


def _build_ranked_implementation(
    name: str, returns: Sequence[float], by_seed: dict[int, float | None], count: int
) -> RankedImplementation:
    failed = sum(by_seed[seed] is None for seed in sorted(by_seed)[:count])
    return RankedImplementation(
        implementation=name, returns=tuple(returns[:count]), available=len(returns), failed=failed
    )


def convert_ranking_to_plain_data(ranking: Ranking) -> dict[str, Any]:
    """Return the ranking as plain JSON values; infinite boundaries are None."""
    plain = asdict(ranking)
    plain["boundaries"] = [
        {"lower": None if not np.isfinite(lower) else lower, "upper": upper}
        for lower, upper in ranking.boundaries
    ]
    for task in plain["tasks"]:
        for ranked in task["standings"]:
            ranked["mean"] = float(np.mean(ranked["returns"]))
    return {"undecided": ranking.undecided_count, **plain}

"""Records baselines: trains the missing runs, then writes the stored runs of each cell."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlregress import suite
from rlregress.check import baseline_runs, replays
from rlregress.errors import UserError
from rlregress.inside.run_record import check_folder_is_writable
from rlregress.inside.worker import PORTABLE
from rlregress.training import job_plan, worker_launch
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell, Job
from rlregress.training.store import open_store_of_option
from rlregress.verdicts.stability import estimate_false_alarms_of_baseline


@dataclass(frozen=True)
class RecordingRequest:
    """A request to record every framework with every algorithm in every environment.

    Attributes:
        hyperparameters: name of a set; empty: each framework's own.
        seeds: stored runs of each cell, from seed 0.
        store: folder of run records; empty: ``runs/`` of the suite.
        replace: overwrite stored runs of other code or more seeds.
    """

    frameworks: Sequence[str]
    algorithms: Sequence[str]
    environments: Sequence[str]
    budget: str
    hyperparameters: str
    seeds: int
    store: str
    replace: bool

    def list_cells_to_record(self) -> list[Cell]:
        """List the cells; UserError if there are none."""
        for framework in self.frameworks:
            name, separator, _ = framework.partition("@")
            if separator:
                raise UserError(
                    f"--framework is '{framework}', but only the installed copy is recorded: "
                    f"expected '{name}'"
                )
        cells = [
            Cell(framework, algorithm, environment, self.hyperparameters or framework, self.budget)
            for framework in self.frameworks
            for algorithm in self.algorithms
            for environment in self.environments
        ]
        if not cells:
            raise UserError("nothing to record; name a framework, an algorithm and an environment")
        return cells


def train_and_record_baselines(
    request: RecordingRequest, workers: int, on_done: Callable[[dict[str, Any], int, int], None]
) -> Iterator[str]:
    """Train every named cell and write its file; yield lines of progress.

    Runs in the store or in stored files are not done again. So an interrupted recording continues,
    and if five of ten requested runs are stored, only five are trained.

    Args:
        on_done: called with the record of each run, the number done, and the total.
    """
    min_seeds = 1 if load_budget(request.budget).arithmetic == PORTABLE else 2
    if not min_seeds <= request.seeds <= baseline_runs.FIRST_NEW_SEED:
        raise UserError(
            f"--seeds is {request.seeds}, expected {min_seeds} to {baseline_runs.FIRST_NEW_SEED} "
            "stored runs of each cell"
        )
    suite.require_checkout("recording stored runs")
    cells = request.list_cells_to_record()
    budget = load_budget(request.budget)
    jobs_by_cell = {cell: job_plan.plan_jobs_of_cell(cell, range(request.seeds)) for cell in cells}
    if not request.replace:
        for jobs in jobs_by_cell.values():
            baseline_runs.check_no_runs_are_lost(jobs)
    earlier: dict[Cell, Mapping[int, baseline_runs.StoredRun]] = {}
    for cell, jobs in jobs_by_cell.items():
        earlier[cell] = {} if request.replace else baseline_runs.find_reusable_runs_by_seed(jobs)
        if budget.arithmetic != PORTABLE:
            baseline_runs.check_same_machine(cell, earlier[cell])
        jobs_by_cell[cell] = [job for job in jobs if job.seed not in earlier[cell]]
    # before hours of training, not after them
    check_folder_is_writable(baseline_runs.locate_returns_folder(), "stored runs")
    store = open_store_of_option(request.store)
    check_folder_is_writable(store.folder, "run records")
    # seed by seed, so that an interrupted recording has some runs of every cell
    queue = sorted((job for cell in cells for job in jobs_by_cell[cell]), key=lambda job: job.seed)
    counter = itertools.count(1)

    def report_run(job: Job, run_record: dict[str, Any]) -> None:
        on_done({**run_record, "cell": job.cell.id, "seed": job.seed}, next(counter), len(queue))

    worker_launch.do_runs_in_order(queue, store, workers or os.cpu_count() or 1, report_run)
    cells_without_runs = []
    for cell, jobs in jobs_by_cell.items():
        if not jobs:
            path = baseline_runs.locate_baseline(cell)
            yield f"{path} holds all requested runs already; --replace does them again"
            continue
        records = [job_record for job in jobs if (job_record := store.find_record(job)) is not None]
        failed = {
            job.seed: reason for job in jobs if (reason := store.read_failure_reason(job.name))
        }
        for seed, reason in failed.items():
            yield f"seed {seed} of {cell.id} failed: {reason}"
        if len(failed) == len(jobs) and not earlier[cell]:
            cells_without_runs.append(cell.id)
            continue
        if budget.arithmetic == PORTABLE:
            replays.check_runs_can_be_replayed(
                list(zip(jobs, records, strict=True)), store, workers
            )
        path = baseline_runs.write_baseline(jobs, records, earlier[cell])
        yield f"wrote {path}"
        returns = baseline_runs.load_baseline(path).returns
        if len(returns) >= 2 and budget.judged:
            yield f"  {estimate_false_alarms_of_baseline(returns, budget.seeds)}"
    if cells_without_runs:
        raise UserError(
            f"all runs of {', '.join(cells_without_runs)} failed, and nothing is stored; fix the "
            "errors above, then record again"
        )

"""Record baselines: train what is missing, then write the stored runs of each cell."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlregress import suite
from rlregress.errors import UserError
from rlregress.gate import baseline_runs, replays
from rlregress.inside.run_record import check_writable
from rlregress.inside.worker import PORTABLE
from rlregress.training import job_plan, worker_launch
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell, Job
from rlregress.training.store import open_store
from rlregress.verdicts.stability import check_stability


@dataclass(frozen=True)
class RecordingRequest:
    """What is to be recorded: every framework with every algorithm in every environment.

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

    def cells(self) -> list[Cell]:
        """The cells; UserError if there are none."""
        for framework in self.frameworks:
            own, at, _ = framework.partition("@")
            if at:
                raise UserError(
                    f"--framework is '{framework}', and runs are recorded of the copy that is "
                    f"installed: expected '{own}'"
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


def record(
    requested: RecordingRequest, workers: int, on_done: Callable[[dict[str, Any], int, int], None]
) -> Iterator[str]:
    """Train every named cell and write its file; yields lines.

    Runs that are in the store, or that are stored already, are not done again: a recording that was
    ended goes on, and five stored runs become ten by five more.

    Args:
        on_done: called with the record of each run, how many are done, and of how many.
    """
    least = 1 if load_budget(requested.budget).arithmetic == PORTABLE else 2
    if not least <= requested.seeds <= baseline_runs.FIRST_NEW_SEED:
        raise UserError(
            f"--seeds is {requested.seeds}, expected {least} to {baseline_runs.FIRST_NEW_SEED} "
            "stored runs of each cell"
        )
    suite.checkout("recording stored runs")
    cells = requested.cells()
    of_budget = load_budget(requested.budget)
    of_cell = {cell: job_plan.plan_jobs(cell, range(requested.seeds)) for cell in cells}
    if not requested.replace:
        for jobs in of_cell.values():
            baseline_runs.check_replaceable(jobs)
    earlier: dict[Cell, Mapping[int, baseline_runs.StoredRun]] = {}
    for cell, jobs in of_cell.items():
        earlier[cell] = {} if requested.replace else baseline_runs.kept(jobs)
        if of_budget.arithmetic != PORTABLE:
            baseline_runs.check_machine(cell, earlier[cell])
        of_cell[cell] = [job for job in jobs if job.seed not in earlier[cell]]
    check_writable(baseline_runs.folder(), "stored runs")
    folder = open_store(requested.store)
    check_writable(folder.folder, "run records")
    # seed by seed, so that a recording that is ended has some runs of every cell
    queue = sorted((job for cell in cells for job in of_cell[cell]), key=lambda job: job.seed)
    done = itertools.count(1)

    def count(job: Job, run_record: dict[str, Any]) -> None:
        on_done({**run_record, "cell": job.cell.id, "seed": job.seed}, next(done), len(queue))

    worker_launch.do_runs(queue, folder, workers or os.cpu_count() or 1, count)
    useless = []
    for cell, jobs in of_cell.items():
        if not jobs:
            path = baseline_runs.path_of(cell)
            yield f"{path} holds all of them already; --replace does them again"
            continue
        records = [of_job for job in jobs if (of_job := folder.find(job)) is not None]
        failed = {job.seed: why for job in jobs if (why := folder.failure_reason(job.name))}
        for seed, why in failed.items():
            yield f"seed {seed} of {cell.id} failed: {why}"
        if len(failed) == len(jobs) and not earlier[cell]:
            useless.append(cell.id)
            continue
        if of_budget.arithmetic == PORTABLE:
            replays.admit(list(zip(jobs, records, strict=True)), folder, workers)
        path = baseline_runs.write(jobs, records, earlier[cell])
        yield f"wrote {path}"
        returns = baseline_runs.load(path).returns
        if len(returns) >= 2 and of_budget.judged:
            yield f"  {check_stability(returns, of_budget.seeds)}"
    if useless:
        raise UserError(
            f"no run of {', '.join(useless)} ended well, and nothing is stored; fix the errors "
            "above, then record again"
        )

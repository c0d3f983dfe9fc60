"""Record baselines: train what is missing, then write the stored runs of each cell."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rlregress import suite
from rlregress.errors import UserError
from rlregress.gate import baseline
from rlregress.training import launch, plan
from rlregress.training.budgets import budget as load_budget
from rlregress.training.cell import Cell, Job
from rlregress.training.record import check_writable
from rlregress.training.store import Store
from rlregress.verdicts.stability import self_check


def record(
    frameworks: Sequence[str],
    algorithms: Sequence[str],
    environments: Sequence[str],
    budget: str,
    seeds: int,
    workers: int,
    store: str,
    replace: bool = False,
) -> Iterator[str]:
    """Train seeds 0 to ``seeds`` - 1 of every named cell and write its file; yields lines.

    Runs that are in the store are not done again, so a recording that was ended goes on.
    """
    if not 2 <= seeds <= baseline.FIRST_NEW_SEED:
        raise UserError(
            f"--seeds is {seeds}, expected 2 to {baseline.FIRST_NEW_SEED} stored runs of each cell"
        )
    cells = [
        Cell(framework, algorithm, environment, framework, budget)
        for framework in frameworks
        for algorithm in algorithms
        for environment in environments
    ]
    if not cells:
        raise UserError("nothing to record; name a framework, an algorithm and an environment")
    of_budget = load_budget(budget)
    of_cell = {cell: plan.jobs(cell, range(seeds)) for cell in cells}
    if not replace:
        for jobs in of_cell.values():
            baseline.check_replaceable(jobs)
    check_writable(baseline.folder(), "stored runs")
    folder = Store(Path(store or suite.root() / "runs").resolve())
    check_writable(folder.folder, "run records")
    queue = [of_cell[cell][number] for number in range(seeds) for cell in cells]
    done: list[str] = []

    def on_done(job: Job, run_record: dict[str, Any]) -> None:
        done.append(job.key)
        print(
            f"[{len(done)}/{len(queue)}] {job.cell.id} seed {job.seed}: {run_record['status']}, "
            f"return {run_record['final_return']}",
            flush=True,
        )

    launch.run_all(queue, folder, workers or os.cpu_count() or 1, on_done)
    for jobs in of_cell.values():
        records = [folder.find(job) for job in jobs]
        path = baseline.write(
            jobs, [run_record for run_record in records if run_record is not None]
        )
        yield f"wrote {path}"
        returns = baseline.load(path).returns
        if len(returns) >= 2:
            yield f"  {self_check(returns, of_budget.seeds)}"

"""The pilot study: train the unchanged framework and copies with known faults, and read the runs.

The records lie in ``<store>/unchanged`` and ``<store>/<fault>``; a study that was ended goes on,
and one that is begun on several machines is put together by copying the folders.

    python -m rlregress.studies.pilot.pilot_trainings STORE WORKERS SEEDS CELL...

trains some cells in this process's copy of the framework; it is what is started for a fault.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from rlregress import datafiles, files, suite
from rlregress.errors import UserError
from rlregress.faults import fault_tables, injection
from rlregress.gate.baseline_runs import FINISHED, numbers_of
from rlregress.gate.cell_selection import Selection, choose
from rlregress.inside import process_tree, run_record
from rlregress.model.fault_results import RETURNS, Fault
from rlregress.model.quantities import CRITIC
from rlregress.studies.pilot.pilot_costs import Curve, Price, prices
from rlregress.tracing.child_processes import last_words
from rlregress.training import job_plan, recorded_runs, worker_launch
from rlregress.training.cell import Cell
from rlregress.training.store import Store

BUDGET = "pilot"
UNCHANGED = "unchanged"


def train(
    selection: Selection, seeds: int, store: Path, workers: int, say: Callable[[str], None]
) -> None:
    """Train every cell of the selection, unchanged and with each fault; what is there is kept.

    Raises:
        UserError: a cell or a fault does not fit what is installed.
    """
    cells = choose(selection)
    train_cells(cells, seeds, store / UNCHANGED, workers, say)
    for framework, algorithm in dict.fromkeys((cell.framework, cell.algorithm) for cell in cells):
        own = [c for c in cells if (c.framework, c.algorithm) == (framework, algorithm)]
        for fault in fault_tables.load(RETURNS, [framework]):
            if fault.algorithm != algorithm:
                continue
            say(f"{framework} {algorithm}: {fault.name}")
            _train_seeded(fault, own, seeds, store / fault.name, workers, say)


def _train_seeded(
    fault: Fault,
    cells: Sequence[Cell],
    seeds: int,
    folder: Path,
    workers: int,
    say: Callable[[str], None],
) -> None:
    """Train cells in a process with a fault, and pass on what it says as it comes."""
    named = [",".join(astuple(cell)) for cell in cells]
    arguments = [str(folder), str(workers), str(seeds), *named]
    with (
        injection.injected(fault) as environment,
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            process_tree.supervised(
                [sys.executable, "-m", "rlregress.studies.pilot.pilot_trainings", *arguments]
            ),
            cwd=suite.workplace(),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            for line in process.stdout or ():
                say(line.rstrip())
            status = process.wait()
        except BaseException:
            process_tree.kill_tree(process)
            raise
        if status:
            errors.seek(0)
            raise UserError(
                f"the trainings with the fault '{fault.name}' ended with status {status}: "
                f"{last_words(errors.read())}"
            )


def train_cells(
    cells: Sequence[Cell], seeds: int, folder: Path, workers: int, say: Callable[[str], None]
) -> None:
    """Train ``seeds`` runs of each cell in this process's copy of the framework."""
    store = Store(files.absolute(folder))
    run_record.check_writable(store.folder, "run records")
    of_cell = [job_plan.jobs(cell, range(seeds)) for cell in cells]
    jobs = [jobs[number] for number in range(seeds) for jobs in of_cell]
    left = [job for job in jobs if store.find(job) is None]
    worker_launch.run_all(
        left,
        store,
        workers,
        lambda job, run: say(f"{job.title}: {run['final_return']}"),
    )


def curve(run: Mapping[str, Any]) -> Curve:
    """The learning curve of a finished record; an evaluation that is not finite is NaN."""
    minutes = np.array(run["curve_cpu_seconds"], dtype=np.float64).reshape(-1, 2) / 60
    ended = np.array([[at, value] for at, value, _ in run["episodes"]], np.float64).reshape(-1, 2)
    complete = [[] if None in returns else returns for _, returns in run["curve"]]
    return Curve(
        evaluated=np.array([at for at, _ in run["curve"]], dtype=np.float64),
        evaluations=np.array([np.mean(returns) if returns else np.nan for returns in complete]),
        training_minutes=minutes[:, 0],
        evaluation_minutes=minutes[:, 1],
        ended=ended[:, 0],
        episodes=ended[:, 1],
        critic=numbers_of(run)[CRITIC],
    )


def curves(folder: Path, steps: dict[str, list[int]]) -> dict[str, list[Curve]]:
    """The finished runs of a folder by cell id.

    A run that failed is left out: what it would count as depends on the whole environment.

    Args:
        steps: of the evaluations, by cell id, as far as they are known; those found are added.

    Raises:
        UserError: a record is damaged, or has not the evaluations of the others of its cell.
    """
    of: dict[str, list[Curve]] = {}
    for path in recorded_runs.paths(folder):
        job, run = recorded_runs.read(path)
        if run["status"] != FINISHED:
            continue
        own = [at for at, _ in run["curve"]]
        timed = len(run.get("curve_cpu_seconds", ())) == len(own) and "episodes" in run
        if not timed or steps.setdefault(job.cell.id, own) != own:
            raise UserError(
                f"the run record {path} does not fit a pilot study; expected episodes, CPU seconds "
                "of each evaluation, and the same evaluation steps as other runs of its cell; "
                "remove it, and start again"
            )
        of.setdefault(job.cell.id, []).append(curve(run))
    return of


def study(store: Path) -> Iterator[tuple[str, list[Price]]]:
    """Each cell with at least two unchanged runs and its measures, the best first."""
    steps: dict[str, list[int]] = {}
    unchanged = curves(store / UNCHANGED, steps)
    faulty = {
        folder.name: curves(folder, steps)
        for folder in datafiles.listed(store, "*")
        if folder.is_dir() and folder.name != UNCHANGED
    }
    for cell, runs in sorted(unchanged.items()):
        with_fault = {name: of[cell] for name, of in faulty.items() if len(of.get(cell, ())) >= 2}
        if len(runs) >= 2:
            yield cell, prices(runs, with_fault, level=0.05 / 10)


def _main(arguments: Sequence[str]) -> None:
    store, workers, seeds, *named = arguments
    cells = [Cell(*name.split(",")) for name in named]
    train_cells(cells, int(seeds), Path(store), int(workers), lambda line: print(line, flush=True))


if __name__ == "__main__":
    _main(sys.argv[1:])

"""One session of trainings: its jobs, their order, and the verdicts on their returns."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from filelock import Timeout

from rlregress.errors import UserError
from rlregress.gate import baseline
from rlregress.training import launch, plan
from rlregress.training.budgets import budget
from rlregress.training.cell import Cell, Job
from rlregress.training.store import Store
from rlregress.verdicts.effect import scale_of
from rlregress.verdicts.fixed import CellSample, Verdicts, judge_cells
from rlregress.verdicts.rules import visible_drop

#: new runs have seeds that no stored run has, so that the two samples are independent
FIRST_NEW_SEED = 1000
_POLL_SECONDS = 1.0
_PATIENCE_SECONDS = 30.0


@dataclass
class Session:
    """The trainings of one session and what they are judged against.

    Attributes:
        cells: what is trained; the family that the error rate is controlled over.
        seeds: new runs per cell.
        alpha: probability of a false alarm in the session.
        pinned: one thread per training.
    """

    cells: list[Cell]
    store: Store
    seeds: int
    alpha: float = 0.05
    pinned: bool = True
    _jobs: dict[Cell, list[Job]] = field(default_factory=dict)
    _verdicts: Verdicts | None = None

    def __post_init__(self) -> None:
        self.judged = bool(self.cells) and budget(self.cells[0].budget).judged
        for cell in self.cells:
            jobs = plan.jobs(cell, range(FIRST_NEW_SEED, FIRST_NEW_SEED + self.seeds))
            if self.judged:
                self._check_stored(cell, jobs[0])
            self._jobs[cell] = jobs

    def _check_stored(self, cell: Cell, job: Job) -> None:
        stored = baseline.for_cell(cell, job.protocol)
        given = {k: "none" if v is None else v for k, v in job.hyperparameters.items()}
        differing = sorted(
            name
            for name in set(given) | set(stored.hyperparameters)
            if given.get(name) != stored.hyperparameters.get(name)
        )
        if differing:
            raise UserError(
                f"{baseline.path_of(cell)} was recorded with other hyperparameters: "
                f"{', '.join(differing)}; record it again"
            )

    def groups(self) -> list[str]:
        """Names of the (framework, algorithm) groups with at least two judged cells."""
        names = [cell.group for cell in self.cells]
        return sorted({name for name in names if names.count(name) >= 2}) if self.judged else []

    def framework_of(self, name: str) -> str:
        """The framework of a cell or a group, by its name."""
        for cell in self.cells:
            if name in (cell.id, cell.group):
                return cell.framework
        raise KeyError(name)

    def estimated_seconds(self, cell: Cell) -> float:
        """CPU seconds of one run as far as stored runs tell; 0 if nothing is stored."""
        return self._stored(cell).cpu_seconds if self.judged else 0.0

    def _stored(self, cell: Cell) -> baseline.Baseline:
        return baseline.for_cell(cell, self._jobs[cell][0].protocol)

    def undone(self, cell: Cell) -> list[Job]:
        """The runs of a cell that have no record yet."""
        return [job for job in self._jobs[cell] if not self.store.path(job).exists()]

    def seconds_to_do(self) -> float:
        """CPU seconds of all runs that have no record yet, as far as stored runs tell."""
        return sum(len(self.undone(cell)) * self.estimated_seconds(cell) for cell in self.cells)

    @property
    def size(self) -> int:
        """How many runs the session has, done or not."""
        return self.seeds * len(self.cells)

    def describe(self) -> str:
        """One phrase: cells, runs, what is already there."""
        left = sum(len(self.undone(cell)) for cell in self.cells)
        name = self.cells[0].budget
        return f"{self.size} runs of budget {name} in {len(self.cells)} cells, {left} of them to do"

    def smallest_visible_drop(self, cell: Cell) -> float | None:
        """Share of the stored mean that a drop needs to be seen with 80 % power; None: no drop is.

        Known before anything is trained: it depends on the stored runs and on the numbers of seeds.
        """
        stored = np.array(self._stored(cell).returns)
        hypotheses = len(self.cells) + len(self.groups())
        drop = visible_drop(stored, self.seeds, hypotheses, self.alpha)
        return None if drop is None else drop / scale_of(stored)

    def ordered_jobs(self) -> list[Job]:
        """Seed by seed over all cells, the longest first, so that cells complete together."""
        cells = sorted(self.cells, key=lambda cell: (-self.estimated_seconds(cell), cell))
        return [self._jobs[cell][number] for number in range(self.seeds) for cell in cells]

    def train(self, job: Job) -> dict[str, Any]:
        """Do the run unless it is done; its record."""
        return launch.run(job, self.store, self.pinned)

    def _in_flight(self, job: Job) -> bool:
        try:
            with self.store.lock(job).acquire(timeout=0):
                return False
        except Timeout:
            return True

    def wait(self) -> None:
        """Return when every run is done; UserError if some are missing and nobody does them."""
        idle_since = time.monotonic()
        while True:
            missing = [
                job
                for jobs in self._jobs.values()
                for job in jobs
                if not self.store.path(job).exists()
            ]
            if not missing:
                return
            if any(self._in_flight(job) for job in missing):
                idle_since = time.monotonic()
            if time.monotonic() - idle_since > _PATIENCE_SECONDS:
                named = ", ".join(f"{job.cell.id} seed {job.seed}" for job in missing[:3])
                raise UserError(
                    f"{len(missing)} runs are missing and nobody does them ({named}, ...); "
                    "start the session again: it does only what is missing"
                )
            time.sleep(_POLL_SECONDS)

    def verdicts(self) -> Verdicts:
        """Judge all cells together, once all runs are done."""
        if self._verdicts is None:
            self.wait()
            self._verdicts = judge_cells(
                {cell.id: self._sample(cell) for cell in self.cells}, alpha=self.alpha
            )
        return self._verdicts

    def _sample(self, cell: Cell) -> CellSample:
        stored = self._stored(cell)
        new, failed = [], 0
        for job in self._jobs[cell]:
            found = self.store.find(job)
            if found is None:
                raise UserError(
                    f"the record of {cell.id} seed {job.seed} was damaged and set aside; start "
                    "the session again: it does only what is missing"
                )
            if found["status"] == "finished":
                new.append(found["final_return"])
            else:
                failed += 1
        # an environment's worst recorded return stands for a run that failed
        worst = [
            value
            for other in baseline.every()
            if other.cell.environment == cell.environment
            for value in other.returns
        ]
        return CellSample(
            stored=stored.returns + [float("nan")] * stored.failed,
            new=new,
            failed=failed,
            group=cell.group,
            worst=min(worst) if worst else None,
        )

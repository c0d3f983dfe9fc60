"""One session of trainings: its jobs, their order, and what they are compared with."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import Timeout

from rlregress import suite
from rlregress.errors import UserError
from rlregress.gate import baseline, published
from rlregress.gate.baseline import FINISHED, FIRST_NEW_SEED, Baseline
from rlregress.gate.selection import Selection, choose
from rlregress.training import launch, plan
from rlregress.training.budgets import budget
from rlregress.training.cell import Cell, Job
from rlregress.training.store import Store
from rlregress.verdicts.bands import Band

#: new runs of one cell, as many as there are seeds for stored ones.
MOST_SEEDS = FIRST_NEW_SEED
#: in place of the name of a group.
_ALL = ""
_POLL_SECONDS = 1.0
_PATIENCE_SECONDS = 30.0


def open_session(
    selection: Selection,
    seeds: int,
    store: str,
    alpha: float = 0.05,
    first_seed: int = FIRST_NEW_SEED,
    pinned: bool = True,
) -> Session:
    """The session that options describe, checked, nothing started.

    Args:
        seeds: new runs per cell; 0: the budget's number.
        store: folder of run records; empty: ``runs/`` of the suite.
    """
    return Session(
        cells=choose(selection),
        store=Store(Path(store or suite.root() / "runs").resolve()),
        seeds=seeds or budget(selection.budget).seeds,
        alpha=alpha,
        pinned=pinned,
        first_seed=first_seed,
    )


def check_numbers(seeds: int, alpha: float, first_seed: int) -> None:
    """UserError that names the option whose number makes no sense."""
    if not 1 <= seeds <= MOST_SEEDS:
        raise UserError(f"--seeds is {seeds}, expected 1 to {MOST_SEEDS} new runs of each cell")
    if first_seed < FIRST_NEW_SEED:
        raise UserError(
            f"--first-seed is {first_seed}, expected {FIRST_NEW_SEED} or more: stored runs have "
            "the seeds below"
        )
    if not 0 < alpha < 1:
        raise UserError(f"--alpha is {alpha}, expected a probability between 0 and 1, such as 0.05")


class Session:
    """The trainings of one session and what they are judged against.

    Attributes:
        cells: what is trained; the family that the error rate is controlled over.
        seeds: new runs per cell.
        alpha: probability of a false alarm in the session.
        pinned: one thread per training.
        first_seed: of the new runs; other seeds confirm or refute an alarm.
        judged: whether the budget's returns are judged.
        stored: the stored runs of the cells that have some.
        bands: the published bands of the other cells.
    """

    def __init__(
        self,
        cells: list[Cell],
        store: Store,
        seeds: int,
        alpha: float = 0.05,
        pinned: bool = True,
        first_seed: int = FIRST_NEW_SEED,
    ) -> None:
        check_numbers(seeds, alpha, first_seed)
        of_budget = budget(cells[0].budget)
        self.cells, self.store, self.seeds = cells, store, seeds
        self.alpha, self.pinned, self.judged = alpha, pinned, of_budget.judged
        self.stored: dict[Cell, Baseline] = {}
        self.bands: dict[Cell, Band] = {}
        self._jobs: dict[Cell, list[Job]] = {}
        self._seconds: dict[Cell, float] = {}
        known = baseline.every()
        for cell in cells:
            jobs = plan.jobs(cell, range(first_seed, first_seed + seeds))
            self._jobs[cell] = jobs
            if self.judged:
                self._compare_with(cell, jobs[0], of_budget.published)
            per_step = baseline.seconds_per_step(cell, known)
            self._seconds[cell] = per_step * jobs[0].protocol.total_steps

    def _compare_with(self, cell: Cell, job: Job, table: str) -> None:
        stored = baseline.find(cell, job.protocol)
        band = published.band_of(cell, table) if table else None
        if stored is not None:
            baseline.check_hyperparameters(stored, job.hyperparameters)
            self.stored[cell] = stored
        elif band is not None:
            self.bands[cell] = band
        else:
            raise UserError(baseline.how_to_record(cell))

    def groups(self) -> list[str]:
        """Names of the (framework, algorithm) groups with at least two cells with stored runs."""
        names = [cell.group for cell in self.stored]
        return sorted({name for name in names if names.count(name) >= 2})

    def verdict_names(self) -> list[str]:
        """Names of the cells and groups that the session owes a verdict on."""
        return [cell.id for cell in self.cells] + self.groups() if self.judged else []

    def framework_of(self, name: str) -> str:
        """The framework of a cell or a group, by its name."""
        return next(cell.framework for cell in self.cells if name in (cell.id, cell.group))

    def jobs(self, cell: Cell) -> list[Job]:
        """The runs of a cell, by seed."""
        return self._jobs[cell]

    def ordered_jobs(self) -> list[Job]:
        """Seed by seed over all cells, the longest first, so that cells complete together."""
        cells = sorted(self.cells, key=lambda cell: (-self.estimated_seconds(cell), cell))
        return [self._jobs[cell][number] for number in range(self.seeds) for cell in cells]

    def undone(self, cell: Cell) -> list[Job]:
        """The runs of a cell that have no record yet."""
        return [job for job in self._jobs[cell] if self.store.find(job) is None]

    def damaged(self, cell: Cell) -> list[str]:
        """What is wrong with records of a cell that cannot be read."""
        return [said for job in self._jobs[cell] if (said := self.store.damage(job))]

    def estimated_seconds(self, cell: Cell) -> float:
        """CPU seconds of one run as far as stored runs of any budget tell; 0 if none do."""
        return self._seconds[cell]

    def measured_in_store(self) -> list[tuple[str, float]]:
        """Id of the cell and wall-clock seconds of every finished run that has a record."""
        records = [
            (cell.id, found)
            for cell in self.cells
            for found in map(self.store.find, self.jobs(cell))
        ]
        return [
            (id, found["time"].get("wall_seconds", 0.0))
            for id, found in records
            if found is not None and found["status"] == FINISHED
        ]

    def seconds_to_do(self, measured: Sequence[tuple[str, float]]) -> float:
        """Seconds of all runs that have no record yet, one after the other.

        The CPU seconds of the stored runs, times how much longer runs take here: those of the same
        framework and algorithm where some are measured, else all that are.

        Args:
            measured: id of the cell and wall-clock seconds of runs of this session.
        """
        cells = {cell.id: cell for cell in self.cells}
        estimated: defaultdict[str, float] = defaultdict(float)
        taken: defaultdict[str, float] = defaultdict(float)
        for id, seconds in measured:
            if self.estimated_seconds(cells[id]):
                for of in (cells[id].group, _ALL):
                    estimated[of] += self.estimated_seconds(cells[id])
                    taken[of] += seconds
        longer = {of: taken[of] / estimated[of] for of in estimated}
        return sum(
            self.estimated_seconds(cell) * longer.get(cell.group, longer.get(_ALL, 1.0))
            for cell in (job.cell for job in self._absent())
        )

    def _absent(self) -> list[Job]:
        """The runs without a file: cheap enough to ask again and again while others work."""
        jobs = [job for cell in self.cells for job in self._jobs[cell]]
        return [job for job in jobs if not self.store.path(job).exists()]

    @property
    def size(self) -> int:
        """How many runs the session has, done or not."""
        return self.seeds * len(self.cells)

    def describe(self) -> str:
        """One phrase: cells, runs, what is already there."""
        left = sum(len(self.undone(cell)) for cell in self.cells)
        name = self.cells[0].budget
        return f"{self.size} runs of budget {name} in {len(self.cells)} cells, {left} of them to do"

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
        while missing := self._absent():
            if any(self._in_flight(job) for job in missing):
                idle_since = time.monotonic()
            if time.monotonic() - idle_since > _PATIENCE_SECONDS:
                named = ", ".join(f"{job.cell.id} seed {job.seed}" for job in missing[:3])
                raise UserError(
                    f"{len(missing)} runs are missing and no process does them ({named}, ...); "
                    "start the same command again: it does only what is missing"
                )
            time.sleep(_POLL_SECONDS)

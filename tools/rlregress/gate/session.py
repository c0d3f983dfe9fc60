"""One session of trainings: its jobs, their order, and what they are compared with."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.gate import baseline_runs, published
from rlregress.gate.baseline_runs import FINISHED, FIRST_NEW_SEED, Baseline
from rlregress.gate.cell_selection import Selection, choose
from rlregress.gate.replays import recorded, replay
from rlregress.model.cells import Band
from rlregress.model.quantities import RETURNS, SECONDARY, Quantity, quantity_of
from rlregress.model.replay_result import Replay
from rlregress.training import job_plan, worker_launch
from rlregress.training.budgets import MAX_SEEDS, load_budget
from rlregress.training.cell import Cell, Job
from rlregress.training.store import Store, open_store
from rlregress.verdicts.looks import MIN_STORED, SEQUENTIAL_LOOKS, Looks, single_look

#: new runs that a t-test against a published band takes
LEAST_AGAINST_BAND = 2
#: in place of the name of a group.
_ALL = ""
_POLL_SECONDS = 1.0


def open_session(
    selection: Selection,
    seeds: int,
    store: str,
    alpha: float = 0.05,
    first_seed: int = FIRST_NEW_SEED,
    pinned: bool = True,
    one_look: bool = False,
    replay_seed: int | None = None,
    replays: str = "",
) -> Session:
    """The session that options describe, checked, nothing started.

    Args:
        seeds: new runs per cell, judged at one look; 0: as the looks ask, or the budget's number.
        store: folder of run records; empty: ``runs/`` of the suite.
        one_look: the gate of fixed size.
        replay_seed: of the stored run of each cell that is replayed, -1: today's; None: none is.
        replays: folder for the records of replays, of this session alone; empty: none is trained.
    """
    return Session(
        cells=choose(selection),
        store=open_store(store),
        seeds=seeds or load_budget(selection.budget).seeds,
        alpha=alpha,
        pinned=pinned,
        first_seed=first_seed,
        sequential=not (one_look or seeds),
        replay_seed=replay_seed,
        replays=replays,
    )


def check_numbers(seeds: int, alpha: float, first_seed: int) -> None:
    """UserError that names the option whose number makes no sense."""
    if not 1 <= seeds <= MAX_SEEDS:
        raise UserError(f"--seeds is {seeds}, expected 1 to {MAX_SEEDS} new runs of each cell")
    job_plan.check_first_seed(first_seed, FIRST_NEW_SEED)
    if not 0 < alpha < 1:
        raise UserError(f"--alpha is {alpha}, expected a probability between 0 and 1, such as 0.05")


class Session:
    """The trainings of one session and what they are judged against.

    Attributes:
        cells: what is trained; the family that the error rate is controlled over.
        looks: after how many new runs of a cell it is judged.
        one_look_because: why the stored runs allow one look only; empty: they allow several.
        alpha: probability of a false alarm in the session.
        pinned: one thread per training.
        first_seed: of the new runs; other seeds confirm or refute an alarm.
        judged: whether the budget's returns are judged.
        stored: the stored runs of the cells that have some.
        bands: the published bands of the other cells.
        secondary_cells: quantity -> cells that are judged by it too, beside their returns.
        replays: cell -> the stored run that is repeated before its fresh seeds.
    """

    def __init__(
        self,
        cells: list[Cell],
        store: Store,
        seeds: int,
        alpha: float = 0.05,
        pinned: bool = True,
        first_seed: int = FIRST_NEW_SEED,
        sequential: bool = False,
        replay_seed: int | None = None,
        replays: str = "",
    ) -> None:
        check_numbers(seeds, alpha, first_seed)
        of_budget = load_budget(cells[0].budget)
        self.cells, self.store, self.first_seed = cells, store, first_seed
        self.alpha, self.pinned, self.judged = alpha, pinned, of_budget.judged
        self.stored: dict[Cell, Baseline] = {}
        self.bands: dict[Cell, Band] = {}
        self.secondary_cells: dict[Quantity, list[Cell]] = {quantity: [] for quantity in SECONDARY}
        self._jobs: dict[Cell, list[Job]] = {}
        self._seconds: dict[Cell, float] = {}
        self._numbers: dict[str, Mapping[Quantity, float]] = {}
        known = baseline_runs.every()
        most = max(seeds, SEQUENTIAL_LOOKS.max_runs) if sequential else seeds
        for cell in cells:
            self._jobs[cell] = job_plan.plan_jobs(cell, range(first_seed, first_seed + most))
            job = self._jobs[cell][0]
            if self.judged:
                self._compare_with(cell, job, of_budget.published)
            per_step = baseline_runs.seconds_per_step(cell, known)
            self._seconds[cell] = per_step * job.protocol.total_steps
        if self.bands and seeds < LEAST_AGAINST_BAND:
            raise UserError(
                f"--seeds is {seeds}, but {next(iter(self.bands)).id} is judged by its published "
                f"band, which takes {LEAST_AGAINST_BAND} new runs or more"
            )
        self.one_look_because = self._too_little_stored()
        self._one_look_requested = not sequential
        several = sequential and self.judged and not self.one_look_because
        self.looks: Looks = SEQUENTIAL_LOOKS if several else single_look(seeds)
        for cell in cells:
            self._jobs[cell] = self._jobs[cell][: self.looks.max_runs]
        #: ids of cells -> the session without them, which remembers what its runs decide
        self._narrowed: dict[frozenset[str], Session] = {}
        self._replay_store = Store(Path(replays)) if replays else None
        found = {
            cell: recorded(cell, replay_seed) for cell in self.stored if replay_seed is not None
        }
        self.replays = {cell: of for cell, of in found.items() if of is not None}

    def _compare_with(self, cell: Cell, job: Job, table: str) -> None:
        stored = baseline_runs.find(cell, job.protocol)
        band = published.band_of(cell, table) if table else None
        few = stored is None or len(stored.runs) < MIN_STORED
        if band is not None and few:
            # five published runs tell more than fewer that are stored
            self.bands[cell] = band
        elif stored is not None:
            if stored.failed == len(stored.runs):
                raise UserError(
                    f"{baseline_runs.path_of(cell)} holds {stored.failed} runs, all failed; record "
                    "it again, with --replace"
                )
            baseline_runs.check_hyperparameters(stored, job.hyperparameters)
            self.stored[cell] = stored
            for quantity in baseline_runs.secondary_quantities(cell.algorithm):
                if not stored.why_not(quantity):
                    self.secondary_cells[quantity].append(cell)
        else:
            raise UserError(baseline_runs.how_to_record(cell))

    def _too_little_stored(self) -> str:
        """What keeps the session from several looks, in words; empty: nothing does."""
        if self.bands:
            cell = next(iter(self.bands))
            stored = baseline_runs.find(cell, self._jobs[cell][0].protocol)
            count = len(stored.runs) if stored else "no"
            return f"{cell.id} has {count} stored runs and is judged by its published band"
        for cell, stored in self.stored.items():
            if len(stored.runs) < MIN_STORED:
                return f"{cell.id} has {len(stored.runs)} stored runs, {MIN_STORED} are needed"
        return ""

    def replay(self, cell: Cell) -> Replay:
        """Return what the replay of a cell comes to, trained once in this session."""
        if self._replay_store is None:
            raise ValueError("this session has no folder for replays")
        return replay(self.replays[cell], self._replay_store)

    @cached_property
    def with_fresh_seeds(self) -> Session:
        """The session of the cells that no replay reproduces: all that fresh seeds judge.

        Which they are is known before the first fresh seed, so that they are the family of tests.
        """
        return self.without(cell.id for cell in self.replays if self.replay(cell).is_reproduced)

    def without(self, reproduced: Iterable[str]) -> Session:
        """Return the session of the other cells.

        Args:
            reproduced: ids of cells.
        """
        done = frozenset(reproduced)
        if not done:
            return self
        if done in self._narrowed:
            return self._narrowed[done]
        rest = self._narrowed[done] = copy(self)
        rest.cells = [cell for cell in self.cells if cell.id not in done]
        rest.stored = {cell: of for cell, of in self.stored.items() if cell.id not in done}
        rest.secondary_cells = {
            quantity: [cell for cell in cells if cell.id not in done]
            for quantity, cells in self.secondary_cells.items()
        }
        return rest

    def groups(self, quantity: Quantity = RETURNS, looks: Looks | None = None) -> list[str]:
        """Names of the (framework, algorithm) groups with at least two cells that are tested.

        Args:
            quantity, looks: as in ``tested``.
        """
        names = [quantity.named(cell.group) for cell in self.tested(quantity, looks)]
        return sorted({name for name in names if names.count(name) >= 2})

    def tested(self, quantity: Quantity = RETURNS, looks: Looks | None = None) -> list[Cell]:
        """The cells with so many stored runs that some new ones could be rejected.

        Args:
            quantity: by which these cells are judged.
            looks: of the gate that would judge them; None: those of the session.
        """
        of = self.looks if looks is None else looks
        return [
            cell
            for cell in self.judged_by(quantity)
            if of.could_reject(len(self.stored[cell].runs), self.alpha_of_family)
        ]

    @property
    def alpha_of_family(self) -> float:
        """The error rate of the family of cells with stored runs, or of that of published bands.

        Where both occur, each gets half.
        """
        return self.alpha / 2 if self.stored and self.bands else self.alpha

    def judged_by(self, quantity: Quantity) -> list[Cell]:
        """The cells that have stored runs to be judged by a quantity."""
        return list(self.stored) if quantity is RETURNS else self.secondary_cells[quantity]

    def not_judged(self, cell: Cell) -> dict[str, str]:
        """What a cell with stored runs could be judged by and is not -> why."""
        reasons = {
            quantity.name: self.stored[cell].why_not(quantity)
            for quantity in baseline_runs.secondary_quantities(cell.algorithm)
        }
        return {name: reason for name, reason in reasons.items() if reason}

    def verdict_names(self) -> list[str]:
        """Names of all that the session owes a verdict on, whatever it is judged by."""
        if not self.judged:
            return []
        secondary = [
            name
            for quantity, cells in self.secondary_cells.items()
            for name in [*(quantity.named(c.id) for c in cells), *self.groups(quantity)]
        ]
        return [cell.id for cell in self.cells] + self.groups() + secondary

    def framework_of(self, name: str) -> str:
        """The framework of what is judged under a name."""
        return self._a_cell(name).framework

    def algorithm_of(self, name: str) -> str:
        """The algorithm of what is judged under a name."""
        return self._a_cell(name).algorithm

    def _a_cell(self, name: str) -> Cell:
        of = quantity_of(name)
        return next(
            cell for cell in self.cells if name in (of.named(cell.id), of.named(cell.group))
        )

    def jobs(self, cell: Cell) -> list[Job]:
        """The runs of a cell, by seed."""
        return self._jobs[cell]

    def ordered_jobs(self) -> list[Job]:
        """Look by look; the runs of one look the longest first, so that they end together."""
        cells = sorted(self.cells, key=lambda cell: (-self.estimated_seconds(cell), cell))
        ordered = []
        begin = 0
        for end in self.looks.seeds:
            ordered += [self._jobs[cell][number] for cell in cells for number in range(begin, end)]
            begin = end
        return ordered

    def number(self, job: Job) -> int:
        """The place of a run among those of its cell, from 0."""
        return job.seed - self.first_seed

    def undone(self, cell: Cell, until: int | None = None) -> list[Job]:
        """The runs of a cell that have no record yet, up to a number of runs; None: first look."""
        first = self._jobs[cell][: self.looks.seeds[0] if until is None else until]
        return [job for job in first if self.store.find_record(job) is None]

    def damaged(self, cell: Cell) -> list[str]:
        """What is wrong with records of a cell that cannot be read."""
        return [damage for job in self._jobs[cell] if (damage := self.store.describe_damage(job))]

    def estimated_seconds(self, cell: Cell) -> float:
        """CPU seconds of one run as far as stored runs tell, of its budget first; 0 if none do."""
        return self._seconds[cell]

    def measured_in_store(self) -> list[tuple[str, float]]:
        """Id of the cell and wall-clock seconds of every finished run that has a record."""
        records = [
            (cell.id, stored)
            for cell in self.cells
            for stored in map(self.store.find_record, self.jobs(cell))
        ]
        return [
            (id, stored["time"].get("wall_seconds", 0.0))
            for id, stored in records
            if stored is not None and stored["status"] == FINISHED
        ]

    def seconds_of_runs(self, measured: Sequence[tuple[str, float]]) -> dict[Cell, float]:
        """Seconds that a run of each cell takes here.

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
        return {
            cell: self.estimated_seconds(cell) * longer.get(cell.group, longer.get(_ALL, 1.0))
            for cell in self.cells
        }

    def lengths_to_do(
        self, measured: Sequence[tuple[str, float]], until: Mapping[Cell, int] | None = None
    ) -> list[tuple[Job, float]]:
        """The runs of the next look that have no record yet, with the seconds of each.

        Later looks are left out: how many runs they take is known when that one is over.

        Args:
            measured: as of ``seconds_of_runs``.
            until: runs of each cell in all that the next look waits for; None: the first look.
        """
        seconds = self.seconds_of_runs(measured)
        counts = until or dict.fromkeys(self.cells, self.looks.seeds[0])
        first = [job for cell, count in counts.items() for job in self._jobs[cell][:count]]
        return [(job, seconds[job.cell]) for job in first if not self.store.path(job).exists()]

    @property
    def size(self) -> int:
        """How many runs the session has at most, done or not."""
        return self.looks.max_runs * len(self.cells)

    def describe(self) -> str:
        """One phrase: cells, runs, what is already there."""
        least = self.looks.seeds[0] * len(self.cells)
        left = sum(len(self.undone(cell)) for cell in self.cells)
        runs = f"{least}" if least == self.size else f"{least} to {self.size}"
        one, cells = self.size == 1, len(self.cells)
        text = f"{runs} run{'s' * (not one)} of budget {self.cells[0].budget} in {cells} "
        text += "cells" if cells > 1 else "cell"
        if least == self.size:
            allowed = self._one_look_requested or not self.one_look_because
            why = "" if allowed else f" (one look: {self.one_look_because})"
            return f"{text}, {left} of them to do{why}"
        looks = ", ".join(map(str, self.looks.seeds))
        return f"{text} (looks after {looks}), {left} of the first look to do"

    def final_returns(self, cell: Cell) -> list[float]:
        """Final returns of the runs of a cell up to the first that is not done, by seed.

        NaN for a run that failed.
        """
        return self.numbers(cell, RETURNS)

    def numbers(self, cell: Cell, quantity: Quantity) -> list[float]:
        """What the same runs are judged by; NaN for one that has no number."""
        values: list[float] = []
        for job in self._jobs[cell]:
            if job.key not in self._numbers:
                run_record = self.store.find_record(job)
                if run_record is None:
                    break
                self._numbers[job.key] = baseline_runs.numbers_of(run_record)
            values.append(self._numbers[job.key][quantity])
        return values

    def train(self, job: Job) -> dict[str, Any]:
        """Do the run unless it is done; its record."""
        return worker_launch.do_run(job, self.store, self.pinned)

    def help_with(self, jobs: Sequence[Job]) -> None:
        """Do one of the runs that others wait for too, or sleep while all of them are being done.

        A process that waits for a look has nothing else to do, and the runs that it waits for may
        be queued behind a long one of another process.
        """
        for job in sorted(jobs, key=lambda job: -self.estimated_seconds(job.cell)):
            if self.store.find_record(job) is None and not self.store.is_in_progress(job):
                self.train(job)
                return
        time.sleep(_POLL_SECONDS)

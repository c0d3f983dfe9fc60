"""A session of trainings: its runs, their order, and the data that they are compared with."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from rlregress.check import baseline_runs, published
from rlregress.check.baseline_runs import FINISHED, FIRST_NEW_SEED, Baseline
from rlregress.check.cell_selection import Selection, choose_cells
from rlregress.check.replays import find_replayable_run, train_or_read_replay
from rlregress.errors import UserError
from rlregress.model.cells import Band
from rlregress.model.quantities import RETURNS, SECONDARY, Quantity, get_quantity_of_verdict_name
from rlregress.model.replay_result import Replay
from rlregress.training import job_plan, worker_launch
from rlregress.training.budgets import MAX_SEEDS, load_budget
from rlregress.training.cell import Cell, Job
from rlregress.training.store import Store, open_store_of_option
from rlregress.verdicts.looks import MIN_STORED, SEQUENTIAL_LOOKS, Looks, make_single_look

#: new runs that a t-test against a published band needs
MIN_BAND_RUNS = 2
#: stands for all groups
_ALL_GROUPS = ""
_POLL_SECONDS = 1.0


def check_numeric_options(seeds: int, alpha: float, first_seed: int) -> None:
    """Raise UserError that names an option with an impossible number."""
    if not 1 <= seeds <= MAX_SEEDS:
        raise UserError(f"--seeds is {seeds}, expected 1 to {MAX_SEEDS} new runs of each cell")
    job_plan.check_first_seed(first_seed, FIRST_NEW_SEED)
    if not 0 < alpha < 1:
        raise UserError(f"--alpha is {alpha}, expected a probability between 0 and 1, such as 0.05")


class Session:
    """The trainings of one session and the data they are judged against.

    A session is checked when it is made, and nothing is started.

    Args:
        seeds: new runs per cell, judged at one look; 0: those of the looks, or of the budget.
        store: folder of run records; empty: ``runs/`` of the suite.
        one_look: whether the gate of fixed size, with one look, judges the runs.
        replay_seed: seed of the replayed stored run of each cell; -1: today's; None: no replays.
        replays: folder of this session for the records of replays; empty: no replays.

    Attributes:
        cells: the trained cells; the error rate is controlled over all of them.
        looks: numbers of new runs after which a cell is judged.
        one_look_reason: why the stored runs allow one look only; empty if they allow several.
        alpha: probability of a false alarm in the session.
        pinned: one thread per training.
        first_seed: of the new runs; other seeds confirm or refute an alarm.
        judged: whether returns are judged with this budget.
        stored: cell -> its stored runs, for cells that have some.
        bands: the published bands of the other cells.
        secondary_cells: quantity -> cells that are also judged by it.
        replays: cell -> the stored run that is repeated before its fresh seeds.
    """

    def __init__(
        self,
        selection: Selection,
        seeds: int,
        store: str,
        alpha: float = 0.05,
        first_seed: int = FIRST_NEW_SEED,
        pinned: bool = True,
        one_look: bool = False,
        replay_seed: int | None = None,
        replays: str = "",
    ) -> None:
        cells = choose_cells(selection)
        self.store = open_store_of_option(store)
        session_budget = load_budget(selection.budget)
        self._one_look_requested = bool(one_look or seeds)
        seeds = seeds or session_budget.seeds
        check_numeric_options(seeds, alpha, first_seed)
        self.cells, self.first_seed = cells, first_seed
        self.alpha, self.pinned, self.judged = alpha, pinned, session_budget.judged
        self.stored: dict[Cell, Baseline] = {}
        self.bands: dict[Cell, Band] = {}
        self.secondary_cells: dict[Quantity, list[Cell]] = {quantity: [] for quantity in SECONDARY}
        self._jobs: dict[Cell, list[Job]] = {}
        self._seconds: dict[Cell, float] = {}
        self._numbers: dict[str, Mapping[Quantity, float]] = {}
        baselines = baseline_runs.load_all_baselines()
        max_seeds = seeds if self._one_look_requested else max(seeds, SEQUENTIAL_LOOKS.max_runs)
        for cell in cells:
            self._jobs[cell] = job_plan.plan_jobs_of_cell(
                cell, range(first_seed, first_seed + max_seeds)
            )
            job = self._jobs[cell][0]
            if self.judged:
                self._set_baseline_or_band(cell, job, session_budget.published)
            per_step = baseline_runs.estimate_seconds_per_step(cell, baselines)
            self._seconds[cell] = per_step * job.protocol.total_steps
        if self.bands and seeds < MIN_BAND_RUNS:
            raise UserError(
                f"--seeds is {seeds}, but {next(iter(self.bands)).id} is judged by its published "
                f"band, which takes {MIN_BAND_RUNS} new runs or more"
            )
        self.one_look_reason = self._explain_one_look()
        has_one_look = self._one_look_requested or not self.judged or self.one_look_reason
        self.looks: Looks = make_single_look(seeds) if has_one_look else SEQUENTIAL_LOOKS
        for cell in cells:
            self._jobs[cell] = self._jobs[cell][: self.looks.max_runs]
        #: ids of cells -> the session without them, which caches its gate's progress
        self._narrowed_sessions: dict[frozenset[str], Session] = {}
        self._replay_store = Store(Path(replays)) if replays else None
        replayable = {
            cell: find_replayable_run(cell, replay_seed)
            for cell in self.stored
            if replay_seed is not None
        }
        self.replays = {cell: run for cell, run in replayable.items() if run is not None}

    def _set_baseline_or_band(self, cell: Cell, job: Job, published_table: str) -> None:
        """Choose a cell's stored runs, or a published band if these are too few, to judge it by."""
        stored = baseline_runs.find_baseline(cell, job.protocol)
        band = published.find_published_band(cell, published_table) if published_table else None
        too_few_stored = stored is None or len(stored.runs) < MIN_STORED
        if band is not None and too_few_stored:
            # five published runs are more evidence than fewer stored ones
            self.bands[cell] = band
        elif stored is not None:
            if stored.failed_count == len(stored.runs):
                raise UserError(
                    f"{baseline_runs.locate_baseline(cell)} holds {stored.failed_count} runs, all "
                    "failed; record it again, with --replace"
                )
            baseline_runs.check_same_hyperparameters(stored, job.hyperparameters)
            self.stored[cell] = stored
            for quantity in baseline_runs.list_secondary_quantities(cell.algorithm):
                if not stored.explain_excluded_quantity(quantity):
                    self.secondary_cells[quantity].append(cell)
        else:
            raise UserError(baseline_runs.suggest_recording_of_cell(cell))

    def _explain_one_look(self) -> str:
        """Explain why the stored runs allow one look only; empty if they allow several."""
        if self.bands:
            cell = next(iter(self.bands))
            stored = baseline_runs.find_baseline(cell, self._jobs[cell][0].protocol)
            count = len(stored.runs) if stored else "no"
            return f"{cell.id} has {count} stored runs and is judged by its published band"
        for cell, stored in self.stored.items():
            if len(stored.runs) < MIN_STORED:
                return f"{cell.id} has {len(stored.runs)} stored runs, {MIN_STORED} are needed"
        return ""

    def replay_stored_run(self, cell: Cell) -> Replay:
        """Return the result of the replay of a cell, trained once in this session."""
        if self._replay_store is None:
            raise ValueError("expected a session with a folder for replays; give it with replays=")
        return train_or_read_replay(self.replays[cell], self._replay_store)

    @cached_property
    def without_reproduced_cells(self) -> Session:
        """The session without the cells that a replay reproduces.

        New seeds judge its other cells.

        All replays end before the first new seed, so these cells can form the family of tests.
        """
        return self.exclude_reproduced_cells(
            cell.id for cell in self.replays if self.replay_stored_run(cell).is_reproduced
        )

    def exclude_reproduced_cells(self, reproduced: Iterable[str]) -> Session:
        """Return the session without these cells.

        Args:
            reproduced: ids of cells.
        """
        done = frozenset(reproduced)
        if not done:
            return self
        if done in self._narrowed_sessions:
            return self._narrowed_sessions[done]
        narrowed = self._narrowed_sessions[done] = copy(self)
        narrowed.cells = [cell for cell in self.cells if cell.id not in done]
        narrowed.stored = {
            cell: baseline for cell, baseline in self.stored.items() if cell.id not in done
        }
        narrowed.secondary_cells = {
            quantity: [cell for cell in cells if cell.id not in done]
            for quantity, cells in self.secondary_cells.items()
        }
        return narrowed

    def list_group_names(
        self, quantity: Quantity = RETURNS, looks: Looks | None = None
    ) -> list[str]:
        """Return the names of (framework, algorithm) groups with at least two testable cells.

        Args:
            quantity, looks: as in ``list_testable_cells``.
        """
        names = [
            quantity.make_verdict_name(cell.group)
            for cell in self.list_testable_cells(quantity, looks)
        ]
        return sorted({name for name in names if names.count(name) >= 2})

    def list_testable_cells(
        self, quantity: Quantity = RETURNS, looks: Looks | None = None
    ) -> list[Cell]:
        """Return the cells with enough stored runs that some new ones could be rejected.

        Args:
            quantity: the quantity that judges them.
            looks: those of the gate that would judge them; None: those of the session.
        """
        session_looks = self.looks if looks is None else looks
        return [
            cell
            for cell in self.list_cells_judged_by(quantity)
            if session_looks.could_reject_at_level(len(self.stored[cell].runs), self.family_alpha)
        ]

    @property
    def family_alpha(self) -> float:
        """Error rate of the family of cells with stored runs, or with published bands.

        If a session has both kinds, each family gets half of the error rate.
        """
        return self.alpha / 2 if self.stored and self.bands else self.alpha

    def list_cells_judged_by(self, quantity: Quantity) -> list[Cell]:
        """Return the cells with stored runs that a quantity judges."""
        return list(self.stored) if quantity is RETURNS else self.secondary_cells[quantity]

    def explain_unjudged_quantities(self, cell: Cell) -> dict[str, str]:
        """Return the quantities that could judge a cell but do not -> the reason."""
        reasons = {
            quantity.name: self.stored[cell].explain_excluded_quantity(quantity)
            for quantity in baseline_runs.list_secondary_quantities(cell.algorithm)
        }
        return {name: reason for name, reason in reasons.items() if reason}

    def list_names_to_judge(self) -> list[str]:
        """Return all names that the session must give a verdict on."""
        if not self.judged:
            return []
        secondary = [
            name
            for quantity, cells in self.secondary_cells.items()
            for name in [
                *(quantity.make_verdict_name(c.id) for c in cells),
                *self.list_group_names(quantity),
            ]
        ]
        return [cell.id for cell in self.cells] + self.list_group_names() + secondary

    def get_framework_of_verdict(self, verdict_name: str) -> str:
        """Return the framework of a judged name."""
        return self._find_cell_of_verdict(verdict_name).framework

    def get_algorithm_of_verdict(self, verdict_name: str) -> str:
        """Return the algorithm of a judged name."""
        return self._find_cell_of_verdict(verdict_name).algorithm

    def _find_cell_of_verdict(self, verdict_name: str) -> Cell:
        quantity = get_quantity_of_verdict_name(verdict_name)
        return next(
            cell
            for cell in self.cells
            if verdict_name
            in (quantity.make_verdict_name(cell.id), quantity.make_verdict_name(cell.group))
        )

    def list_jobs_of_cell(self, cell: Cell) -> list[Job]:
        """Return the runs of a cell, by seed."""
        return self._jobs[cell]

    def list_jobs_look_by_look(self) -> list[Job]:
        """Return the runs look by look, the longest first so that they end together."""
        cells = sorted(self.cells, key=lambda cell: (-self.estimate_seconds_of_cell(cell), cell))
        ordered = []
        begin = 0
        for end in self.looks.run_counts:
            ordered += [
                self._jobs[cell][run_index] for cell in cells for run_index in range(begin, end)
            ]
            begin = end
        return ordered

    def find_index_of_run(self, job: Job) -> int:
        """Return the index of a run within its cell, from 0."""
        return job.seed - self.first_seed

    def list_undone_jobs(self, cell: Cell, run_count: int | None = None) -> list[Job]:
        """Return the runs of a cell without a record, up to a number of runs; None: first look."""
        first = self._jobs[cell][: self.looks.run_counts[0] if run_count is None else run_count]
        return [job for job in first if self.store.find_record(job) is None]

    def describe_unreadable_records(self, cell: Cell) -> list[str]:
        return [
            damage
            for job in self._jobs[cell]
            if (damage := self.store.describe_damaged_record(job))
        ]

    def estimate_seconds_of_cell(self, cell: Cell) -> float:
        """Return CPU seconds of one run, estimated from stored runs; 0 without any."""
        return self._seconds[cell]

    def list_measured_seconds(self) -> list[tuple[str, float]]:
        """Return cell id and wall-clock seconds of every finished run in the store."""
        records = [
            (cell.id, stored)
            for cell in self.cells
            for stored in map(self.store.find_record, self.list_jobs_of_cell(cell))
        ]
        return [
            (id, stored["time"].get("wall_seconds", 0.0))
            for id, stored in records
            if stored is not None and stored["status"] == FINISHED
        ]

    def estimate_run_seconds(self, timings: Sequence[tuple[str, float]]) -> dict[Cell, float]:
        """Estimate the seconds of a run of each cell on this machine.

        The CPU seconds of the stored runs are multiplied by the slowdown of measured runs here, of
        the same framework and algorithm if there are any, else of all.

        Args:
            timings: id of the cell and wall-clock seconds of runs of this session.
        """
        cells = {cell.id: cell for cell in self.cells}
        estimated: defaultdict[str, float] = defaultdict(float)
        measured_sum: defaultdict[str, float] = defaultdict(float)
        for id, seconds in timings:
            if self.estimate_seconds_of_cell(cells[id]):
                for group in (cells[id].group, _ALL_GROUPS):
                    estimated[group] += self.estimate_seconds_of_cell(cells[id])
                    measured_sum[group] += seconds
        slowdown = {group: measured_sum[group] / estimated[group] for group in estimated}
        return {
            cell: self.estimate_seconds_of_cell(cell)
            * slowdown.get(cell.group, slowdown.get(_ALL_GROUPS, 1.0))
            for cell in self.cells
        }

    def estimate_remaining_runs(
        self, timings: Sequence[tuple[str, float]], run_counts: Mapping[Cell, int] | None = None
    ) -> list[tuple[Job, float]]:
        """Return the runs of the next look without a record, with the seconds of each.

        Later looks are left out: their number of runs is known only after this one.

        Args:
            timings: see ``estimate_run_seconds``.
            run_counts: total runs of each cell that the next look waits for; None: first look.
        """
        seconds = self.estimate_run_seconds(timings)
        counts = run_counts or dict.fromkeys(self.cells, self.looks.run_counts[0])
        first = [job for cell, count in counts.items() for job in self._jobs[cell][:count]]
        return [
            (job, seconds[job.cell]) for job in first if not self.store.locate_record(job).exists()
        ]

    @property
    def max_total_runs(self) -> int:
        """Largest number of runs of the session, done or not."""
        return self.looks.max_runs * len(self.cells)

    def describe_session(self) -> str:
        """Describe the session in one phrase: cells, runs, and those already done."""
        first_runs = self.looks.run_counts[0] * len(self.cells)
        remaining = sum(len(self.list_undone_jobs(cell)) for cell in self.cells)
        runs = (
            f"{first_runs}"
            if first_runs == self.max_total_runs
            else f"{first_runs} to {self.max_total_runs}"
        )
        is_single, cells = self.max_total_runs == 1, len(self.cells)
        text = f"{runs} run{'s' * (not is_single)} of budget {self.cells[0].budget} in {cells} "
        text += "cells" if cells > 1 else "cell"
        if first_runs == self.max_total_runs:
            allowed = self._one_look_requested or not self.one_look_reason
            explanation = "" if allowed else f" (one look: {self.one_look_reason})"
            return f"{text}, {remaining} of them to do{explanation}"
        looks = ", ".join(map(str, self.looks.run_counts))
        return f"{text} (looks after {looks}), {remaining} of the first look to do"

    def read_returns(self, cell: Cell) -> list[float]:
        """Return final returns of the runs of a cell up to the first undone one, by seed.

        Failed runs are NaN.
        """
        return self.read_numbers_of_quantity(cell, RETURNS)

    def read_numbers_of_quantity(self, cell: Cell, quantity: Quantity) -> list[float]:
        """Return a quantity's values for the runs of ``read_returns``; NaN for runs without one."""
        values: list[float] = []
        for job in self._jobs[cell]:
            if job.key not in self._numbers:
                run_record = self.store.find_record(job)
                if run_record is None:
                    break
                self._numbers[job.key] = baseline_runs.read_judged_numbers(run_record)
            values.append(self._numbers[job.key][quantity])
        return values

    def run_or_read_job(self, job: Job) -> dict[str, Any]:
        """Do the run unless it is done. Return its record."""
        return worker_launch.do_run_unless_recorded(job, self.store, self.pinned)

    def run_one_job_or_sleep(self, awaited_jobs: Sequence[Job]) -> None:
        """Do one of the runs that others wait for, or sleep while all of them are in progress.

        A process that waits for a look is idle, and the awaited runs may be queued behind a long
        one of another process.
        """
        for job in sorted(awaited_jobs, key=lambda job: -self.estimate_seconds_of_cell(job.cell)):
            if self.store.find_record(job) is None and not self.store.is_in_progress(job):
                self.run_or_read_job(job)
                return
        time.sleep(_POLL_SECONDS)

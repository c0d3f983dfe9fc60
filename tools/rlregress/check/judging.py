"""Judges the returns and secondary quantities of a session as one family."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from rlregress.check import baseline_runs, published
from rlregress.check.session import Session
from rlregress.model.cells import Band, Verdict
from rlregress.model.quantities import ONE_SIDED, RETURNS, SECONDARY, Quantity, compute_alpha_shares
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell, Job
from rlregress.verdicts.bands import BandSample, judge_bands
from rlregress.verdicts.ceiling import are_returns_at_ceiling
from rlregress.verdicts.looks import Looks
from rlregress.verdicts.power import estimate_runs_if_unchanged, estimate_smallest_group_drop
from rlregress.verdicts.rules import CellSample, Rules, compute_detectable_drop_of_cell
from rlregress.verdicts.sequential import GateProgress, build_verdicts_of_gate, take_possible_looks

#: the quantities by which runs are judged
JUDGED_QUANTITIES = (RETURNS, *SECONDARY)


def train_and_judge_session(session: Session) -> dict[str, Verdict]:
    """Return the verdicts on all cells and groups by name; do or await missing runs.

    Cells with stored runs and cells with published bands are two families; where both occur, each
    gets half of the session's error rate.
    """
    verdicts: dict[str, Verdict] = {}
    if session.stored:
        gate = judge_present_runs(session)
        # each look decides which cells need further runs
        while gate.needed:
            session.run_one_job_or_sleep(_list_missing_jobs(session, gate))
            gate = judge_present_runs(session)
        cell_verdicts = build_verdicts_of_gate(gate)
        verdicts.update(cell_verdicts.cells)
        verdicts.update(cell_verdicts.groups)
    # a published band is judged once, by all runs
    if session.bands:
        table = load_budget(session.cells[0].budget).published
        returns = {cell: _await_returns_of_cell(session, cell) for cell in session.bands}
        samples = build_band_samples(returns, session.bands, table)
        verdicts.update(judge_bands(samples, alpha=session.family_alpha))
    return verdicts


def do_earlier_looks_and_explain_skip(session: Session, job: Job) -> str:
    """Do runs that earlier interim tests lack; return why ``job`` may then be skipped, or ""."""
    if job.cell not in session.cells:
        return f"not needed: a replay of {job.cell.id} has the stored numbers"
    look = session.looks.find_look_of_run(session.find_index_of_run(job))
    # every cell has a first look, and a published band takes all runs
    if look == 0 or job.cell not in session.stored:
        return ""
    while True:
        gate = judge_present_runs(session)
        if gate.look >= look or not gate.needed:
            break
        session.run_one_job_or_sleep(_list_missing_jobs(session, gate))
    name = job.cell.id
    names = [
        quantity.make_verdict_name(name)
        for quantity in JUDGED_QUANTITIES
        if job.cell in session.list_cells_judged_by(quantity)
    ]
    # the training or the critic of a cell may need runs that its returns do not need
    looks_taken = max(map(gate.count_looks_taken, names))
    if looks_taken > look or gate.undecided.intersection(names):
        return ""
    seeds = session.looks.run_counts[looks_taken - 1]
    return f"not needed: {name} was decided at look {looks_taken}, with {seeds} new runs"


def judge_present_runs(session: Session) -> GateProgress:
    """Return the decisions that the present runs allow. They are cached until runs are added."""
    # a look takes seconds, and every test of a run asks for the progress; runs are only ever added
    done = tuple(len(session.read_returns(cell)) for cell in session.stored)
    if session not in _GATES or _GATES[session][0] != done:
        worst = find_worst_return_by_environment()
        samples = {
            quantity.make_verdict_name(cell.id): CellSample(
                stored=session.stored[cell].list_values_of_quantity(quantity),
                new=session.read_numbers_of_quantity(cell, quantity),
                group=quantity.make_verdict_name(cell.group),
                # a crash must cost at least as much as the worst training ever recorded there
                worst=worst.get(cell.environment),
                quantity=quantity,
            )
            for quantity in JUDGED_QUANTITIES
            for cell in session.list_cells_judged_by(quantity)
        }
        looks = dict.fromkeys(samples, session.looks)
        _GATES[session] = (
            done,
            take_possible_looks(samples, looks, Rules(alpha=session.family_alpha)),
        )
    return _GATES[session][1]


#: session -> number of runs of each cell, and the gate's progress with them
_GATES: WeakKeyDictionary[Session, tuple[tuple[int, ...], GateProgress]] = WeakKeyDictionary()


def _list_missing_jobs(session: Session, gate: GateProgress) -> list[Job]:
    """Return the runs that the next look waits for."""
    return [
        job
        for cell in session.stored
        for job in session.list_jobs_of_cell(cell)[: count_needed_runs(gate, cell)]
        if session.store.find_record(job) is None
    ]


def count_needed_runs(gate: GateProgress, cell: Cell) -> int:
    """Return the number of runs of a cell that the next look waits for, over all quantities."""
    return max(
        gate.needed.get(quantity.make_verdict_name(cell.id), 0) for quantity in JUDGED_QUANTITIES
    )


def _await_returns_of_cell(session: Session, cell: Cell) -> list[float]:
    """Return the final returns of all new runs of a cell; do or await missing ones."""
    while len(values := session.read_returns(cell)) < session.looks.max_runs:
        session.run_one_job_or_sleep(session.list_undone_jobs(cell))
    return values


def find_worst_return_by_environment() -> dict[str, float]:
    """Return the worst stored return in each environment, which stands in for a failed run's."""
    worst: dict[str, float] = {}
    # of all baselines, so that the cost of a crash does not depend on the selected cells
    for stored in baseline_runs.load_all_baselines():
        environment = stored.cell.environment
        if stored.returns:
            worst[environment] = min([*stored.returns, worst.get(environment, math.inf)])
    return worst


def replace_failed_runs(
    returns: Mapping[Cell, Sequence[float]], table: str
) -> dict[Cell, list[float]]:
    """Replace failed runs (nan) by the worst return of their environment.

    It is the worst among all stored runs, the means of a published table, and these runs.
    """
    worst = find_worst_return_by_environment()
    returns_by_environment = [
        (key[2], band.mean) for key, band in published.load_published_bands(table).items()
    ]
    returns_by_environment += [
        (cell.environment, value)
        for cell, cell_returns in returns.items()
        for value in cell_returns
    ]
    for environment, value in returns_by_environment:
        if math.isfinite(value):
            worst[environment] = min(value, worst.get(environment, math.inf))
    return {
        cell: [value if math.isfinite(value) else worst[cell.environment] for value in cell_returns]
        for cell, cell_returns in returns.items()
    }


def build_band_samples(
    returns: Mapping[Cell, Sequence[float]], bands: Mapping[Cell, Band], table: str
) -> dict[str, BandSample]:
    """Return cell id -> the returns of its runs with its published band.

    Args:
        returns: final returns of each cell, nan for failed runs (``replace_failed_runs``).
        table: name of the published table.
    """
    return {
        cell.id: BandSample(
            bands[cell], cell_returns, published.count_failed_published_runs(cell, table)
        )
        for cell, cell_returns in replace_failed_runs(returns, table).items()
    }


def compute_smallest_visible_drop(
    session: Session, cell: Cell, looks: Looks, quantity: Quantity = RETURNS
) -> float | None:
    """Return the smallest drop that is detected with 80 % power; None if none is.

    It is a share of the scale of the stored numbers (``quantity.compute_scale``).

    It depends only on the stored runs and the numbers of seeds, so it is known in advance.
    """
    if cell not in session.list_testable_cells(quantity, looks):
        return None
    stored = _list_finite_stored_numbers(session, cell, quantity)
    drop = compute_detectable_drop_of_cell(
        stored, looks, *count_hypotheses_and_compute_alpha(session, quantity, looks), quantity
    )
    return None if drop is None else drop / quantity.compute_scale(stored)


def compute_smallest_common_drop(
    session: Session, group: str, looks: Looks, quantity: Quantity = RETURNS
) -> float | None:
    """Return the smallest share lost by all cells of a group that is detected; None if none is.

    Args:
        group: the group's name, as judged by this quantity.
    """
    members = _list_samples_of_group(session, group, looks, quantity)
    if len(members) < 2:
        return None
    drop = estimate_smallest_group_drop(
        [len(values) for values in members],
        looks,
        _list_relative_spreads(members, quantity),
        *count_hypotheses_and_compute_alpha(session, quantity, looks),
        floor=Rules.floor,
        ceilings=[are_returns_at_ceiling(values) for values in members],
    )
    # a return cannot fall below its bound: a larger drop is impossible, not detectable
    largest = min(
        quantity.compute_largest_loss(values) / quantity.compute_scale(values) for values in members
    )
    return drop if math.isfinite(drop) and drop <= largest else None


def list_relative_spreads_of_stored_runs(
    session: Session, group: str, looks: Looks, quantity: Quantity
) -> list[float]:
    """Return standard deviation over scale of the stored runs of each tested cell of a group."""
    return _list_relative_spreads(_list_samples_of_group(session, group, looks, quantity), quantity)


def _list_relative_spreads(members: Sequence[np.ndarray], quantity: Quantity) -> list[float]:
    return [float(values.std(ddof=1)) / quantity.compute_scale(values) for values in members]


def _list_samples_of_group(
    session: Session, group: str, looks: Looks, quantity: Quantity
) -> list[np.ndarray]:
    cells = [
        c
        for c in session.list_testable_cells(quantity, looks)
        if quantity.make_verdict_name(c.group) == group
    ]
    return [_list_finite_stored_numbers(session, cell, quantity) for cell in cells]


def _list_finite_stored_numbers(session: Session, cell: Cell, quantity: Quantity) -> np.ndarray:
    numbers = np.array(session.stored[cell].list_values_of_quantity(quantity))
    return numbers[np.isfinite(numbers)]


def estimate_session_seconds(session: Session, looks: Looks) -> float:
    """Return the expected CPU seconds of a session, all looks included, if nothing changed."""
    return sum(
        estimate_new_runs_of_cell(session, cell, looks) * session.estimate_seconds_of_cell(cell)
        for cell in session.cells
    )


def count_runs_for_next_look(session: Session) -> dict[Cell, int]:
    """Return the number of runs of each cell that its next look waits for; 0 if it is decided."""
    # every cell has its first look, even one that no data could reject
    awaited = dict.fromkeys(session.cells, session.looks.run_counts[0])
    if session.stored:
        gate = judge_present_runs(session)
        for cell in session.stored:
            if gate.undecided.intersection(
                quantity.make_verdict_name(cell.id) for quantity in JUDGED_QUANTITIES
            ):
                # its group or a quantity may need more runs than the first look
                awaited[cell] = max(awaited[cell], count_needed_runs(gate, cell))
            else:
                awaited[cell] = 0
    return awaited


def estimate_new_runs_of_cell(session: Session, cell: Cell, looks: Looks) -> float:
    """Return the average number of new runs of a cell if nothing changed."""
    if cell not in session.stored or len(looks.run_counts) == 1:
        return float(looks.max_runs)
    # a suspicious group keeps all of its cells in the next look
    related_cells = [
        related
        for related in session.stored
        if related == cell
        or (related.group == cell.group and cell.group in session.list_group_names(looks=looks))
    ]
    return estimate_runs_if_unchanged(
        [len(session.stored[related].returns) for related in related_cells],
        looks,
        *count_hypotheses_and_compute_alpha(session, RETURNS, looks),
        quantities=sum(
            any(c in session.list_cells_judged_by(quantity) for c in related_cells)
            for quantity in ONE_SIDED
        ),
    )


def count_hypotheses_and_compute_alpha(
    session: Session, quantity: Quantity, looks: Looks
) -> tuple[int, float]:
    """Return the number of hypotheses about a quantity, and its part of the error rate alpha.

    The hypotheses are the tested cells and groups. The stored runs decide which quantities are
    judged, so both numbers are known before any new run.

    Args:
        quantity: one for which a smaller number is a loss.
        looks: those of the gate that would judge them.
    """
    # Holm's first step tests every hypothesis at the level that a single deviating cell must pass
    counts = {
        counted_quantity: len(session.list_testable_cells(counted_quantity, looks))
        + len(session.list_group_names(counted_quantity, looks))
        for counted_quantity in ONE_SIDED
    }
    return counts[quantity], session.family_alpha * compute_alpha_shares(counts).get(quantity, 1.0)

"""The verdicts on a session's returns and on what is judged beside them, as one family."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from rlregress.gate import baseline_runs, published
from rlregress.gate.session import Session
from rlregress.model.cells import Band, Verdict
from rlregress.model.quantities import ONE_SIDED, RETURNS, SECONDARY, Quantity, shares
from rlregress.progress import stored_durations
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell, Job
from rlregress.verdicts.bands import BandSample, judge_bands
from rlregress.verdicts.ceiling import is_at_ceiling
from rlregress.verdicts.looks import Looks
from rlregress.verdicts.power import average_runs, smallest_group_drop
from rlregress.verdicts.rules import CellSample, Rules, visible_drop
from rlregress.verdicts.sequential import Course, build_verdicts, take_looks

#: all that runs are judged by
EVERY = (RETURNS, *SECONDARY)


def judge(session: Session) -> dict[str, Verdict]:
    """The verdicts on all cells and groups, by name; does or waits for the runs that are missing.

    Cells with stored runs and cells with published bands are two families; where both occur, each
    gets half of the session's error rate.
    """
    verdicts: dict[str, Verdict] = {}
    if session.stored:
        course = course_of(session)
        while course.needed:
            session.help_with(_missing(session, course))
            course = course_of(session)
        of_cells = build_verdicts(course)
        verdicts.update(of_cells.cells)
        verdicts.update(of_cells.groups)
    if session.bands:
        table = load_budget(session.cells[0].budget).published
        returns = {cell: _all_returns(session, cell) for cell in session.bands}
        samples = band_samples(returns, session.bands, table)
        verdicts.update(judge_bands(samples, alpha=session.alpha_of_family))
    return verdicts


def why_not_needed(session: Session, job: Job) -> str:
    """Why nobody needs a run: its cell was decided before; empty: the run is needed.

    What decides is known when the looks before are over: their missing runs are done or waited for.
    """
    if job.cell not in session.cells:
        return f"not needed: a replay of {job.cell.id} has the stored numbers"
    look = session.looks.find_look(session.number(job))
    if look == 0 or job.cell not in session.stored:
        return ""
    while True:
        course = course_of(session)
        if course.look >= look or not course.needed:
            break
        session.help_with(_missing(session, course))
    name = job.cell.id
    names = [of.named(name) for of in EVERY if job.cell in session.judged_by(of)]
    taken = max(map(course.count_looks, names))
    if taken > look or course.undecided.intersection(names):
        return ""
    seeds = session.looks.seeds[taken - 1]
    return f"not needed: {name} was decided at look {taken}, with {seeds} new runs"


def course_of(session: Session) -> Course:
    """What the runs so far decide; computed again only when runs were added."""
    done = tuple(len(session.final_returns(cell)) for cell in session.stored)
    if session not in _COURSES or _COURSES[session][0] != done:
        worst = worst_returns()
        samples = {
            quantity.named(cell.id): CellSample(
                stored=session.stored[cell].numbers(quantity),
                new=session.numbers(cell, quantity),
                group=quantity.named(cell.group),
                worst=worst.get(cell.environment),
                quantity=quantity,
            )
            for quantity in EVERY
            for cell in session.judged_by(quantity)
        }
        looks = dict.fromkeys(samples, session.looks)
        _COURSES[session] = done, take_looks(samples, looks, Rules(alpha=session.alpha_of_family))
    return _COURSES[session][1]


#: session -> how many runs of each cell were there, and what they decided.
_COURSES: WeakKeyDictionary[Session, tuple[tuple[int, ...], Course]] = WeakKeyDictionary()


def _missing(session: Session, course: Course) -> list[Job]:
    """The runs that the next look waits for."""
    return [
        job
        for cell in session.stored
        for job in session.jobs(cell)[: needed(course, cell)]
        if session.store.find_record(job) is None
    ]


def needed(course: Course, cell: Cell) -> int:
    """How many runs of a cell the next look waits for, whatever they are judged by."""
    return max(course.needed.get(of.named(cell.id), 0) for of in EVERY)


def _all_returns(session: Session, cell: Cell) -> list[float]:
    """Final returns of all new runs of a cell, which are done or waited for."""
    while len(values := session.final_returns(cell)) < session.looks.max_runs:
        session.help_with(session.undone(cell))
    return values


def worst_returns() -> dict[str, float]:
    """The worst recorded return per environment: what a run that failed counts as."""
    worst: dict[str, float] = {}
    for stored in baseline_runs.every():
        environment = stored.cell.environment
        if stored.returns:
            worst[environment] = min([*stored.returns, worst.get(environment, math.inf)])
    return worst


def counted(returns: Mapping[Cell, Sequence[float]], table: str) -> dict[Cell, list[float]]:
    """Final returns of each cell; one that failed (nan) counts as the worst of its environment.

    That is the worst of all stored runs, of the means that a published table prints, and of these
    runs themselves.
    """
    worst = worst_returns()
    known = [(key[2], band.mean) for key, band in published.table(table).items()]
    known += [(cell.environment, value) for cell, own in returns.items() for value in own]
    for environment, value in known:
        if math.isfinite(value):
            worst[environment] = min(value, worst.get(environment, math.inf))
    return {
        cell: [value if math.isfinite(value) else worst[cell.environment] for value in own]
        for cell, own in returns.items()
    }


def band_samples(
    returns: Mapping[Cell, Sequence[float]], bands: Mapping[Cell, Band], table: str
) -> dict[str, BandSample]:
    """Runs beside the published bands of their cells, by the id of the cell.

    Args:
        returns: final returns of each cell, nan for a run that failed (``counted``).
        table: name of the published table.
    """
    return {
        cell.id: BandSample(bands[cell], own, published.ceiling_counts(cell, table))
        for cell, own in counted(returns, table).items()
    }


def smallest_visible_drop(
    session: Session, cell: Cell, looks: Looks, quantity: Quantity = RETURNS
) -> float | None:
    """Share of the scale that a drop needs to be detected with 80 % power; None: no drop is.

    Known before anything is trained: it depends on the stored runs and on the numbers of seeds.
    """
    if cell not in session.tested(quantity, looks):
        return None
    stored = _stored(session, cell, quantity)
    drop = visible_drop(stored, looks, *family(session, quantity, looks), quantity)
    return None if drop is None else drop / quantity.scale(stored)


def smallest_common_drop(
    session: Session, group: str, looks: Looks, quantity: Quantity = RETURNS
) -> float | None:
    """Share of their scales that all cells of a group must lose to be detected with 80 % power.

    Args:
        group: its name by this quantity.
    """
    members = _members(session, group, looks, quantity)
    if len(members) < 2:
        return None
    drop = smallest_group_drop(
        [len(values) for values in members],
        looks,
        _relative_sds(members, quantity),
        *family(session, quantity, looks),
        floor=Rules.floor,
        ceilings=[is_at_ceiling(values) for values in members],
    )
    largest = min(quantity.largest_loss(values) / quantity.scale(values) for values in members)
    return drop if math.isfinite(drop) and drop <= largest else None


def relative_sds(session: Session, group: str, looks: Looks, quantity: Quantity) -> list[float]:
    """Standard deviation over scale of the stored runs of each tested cell of a group."""
    return _relative_sds(_members(session, group, looks, quantity), quantity)


def _relative_sds(members: Sequence[np.ndarray], quantity: Quantity) -> list[float]:
    return [float(values.std(ddof=1)) / quantity.scale(values) for values in members]


def _members(session: Session, group: str, looks: Looks, quantity: Quantity) -> list[np.ndarray]:
    cells = [c for c in session.tested(quantity, looks) if quantity.named(c.group) == group]
    return [_stored(session, cell, quantity) for cell in cells]


def _stored(session: Session, cell: Cell, quantity: Quantity) -> np.ndarray:
    numbers = np.array(session.stored[cell].numbers(quantity))
    return numbers[np.isfinite(numbers)]


def expected_seconds(session: Session, looks: Looks) -> float:
    """CPU seconds of a session on average if nothing changed, looks after the first included."""
    return sum(
        expected_new_runs(session, cell, looks) * session.estimated_seconds(cell)
        for cell in session.cells
    )


def awaited_runs(session: Session) -> dict[Cell, int]:
    """How many runs of each cell its next look waits for; 0 where all is decided."""
    until = dict.fromkeys(session.cells, session.looks.seeds[0])
    if session.stored:
        course = course_of(session)
        for cell in session.stored:
            if course.undecided.intersection(of.named(cell.id) for of in EVERY):
                until[cell] = max(until[cell], needed(course, cell))
            else:
                until[cell] = 0
    return until


def seconds_to_do(session: Session, measured: Sequence[tuple[str, float]]) -> float:
    """Seconds of the runs without a record, one after the other.

    Those of the next looks, which start a process each, and those that later ones are expected to
    take.

    Args:
        measured: as of ``Session.seconds_of_runs``.
    """
    until, seconds = awaited_runs(session), session.seconds_of_runs(measured)
    first = session.looks.seeds[0]
    later = sum(
        max(expected_new_runs(session, cell, session.looks) - first, 0.0) * seconds[cell]
        for cell in session.stored
        if until[cell] == first < session.looks.max_runs
    )
    start = stored_durations().start
    return later + sum(start + of_run for _, of_run in session.lengths_to_do(measured, until))


def expected_new_runs(session: Session, cell: Cell, looks: Looks) -> float:
    """New runs of a cell on average, if nothing changed."""
    if cell not in session.stored or len(looks.seeds) == 1:
        return float(looks.max_runs)
    together = [
        cell_
        for cell_ in session.stored
        if cell_ == cell
        or (cell_.group == cell.group and cell.group in session.groups(looks=looks))
    ]
    return average_runs(
        [len(session.stored[cell_].returns) for cell_ in together],
        looks,
        *family(session, RETURNS, looks),
        quantities=sum(any(c in session.judged_by(of) for c in together) for of in ONE_SIDED),
    )


def family(session: Session, quantity: Quantity, looks: Looks) -> tuple[int, float]:
    """Cells and groups that are tested by a quantity, and its share of the error rate.

    Known before anything is trained: what is judged beside returns is decided by the stored runs.

    Args:
        quantity: one of which a smaller number is a loss.
        looks: of the gate that would judge them.
    """
    counts = {
        of: len(session.tested(of, looks)) + len(session.groups(of, looks)) for of in ONE_SIDED
    }
    return counts[quantity], session.alpha_of_family * shares(counts).get(quantity, 1.0)

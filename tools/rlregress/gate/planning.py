"""What a session would train, what that costs, and what each gate could see; nothing is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlregress.errors import UserError
from rlregress.gate import baseline, schedule
from rlregress.gate.candidates import Gate, candidates
from rlregress.gate.judging import EVERY, course_of, needed
from rlregress.gate.proposals import Wanted, proposals
from rlregress.gate.schedule import Makespan
from rlregress.gate.selection import Selection, refused
from rlregress.gate.session import Session, open_session
from rlregress.training.budgets import budget
from rlregress.training.cell import Cell
from rlregress.verdicts.rules import Rules


@dataclass(frozen=True)
class CellPlan:
    """One cell.

    Attributes:
        damaged: what is wrong with records that cannot be read.
        done: runs that have a record.
        until: runs in all that its next look waits for; 0 if it is decided.
        undone: those of them that have no record yet.
        seconds: CPU seconds of one run, as far as stored runs tell.
        banded: it is judged against a published band, not against stored runs.
    """

    name: str
    damaged: tuple[str, ...]
    done: int
    until: int
    undone: int
    seconds: float
    banded: bool

    @property
    def decided(self) -> bool:
        """Whether the runs that are done decide all that is judged of it."""
        return self.until == 0


@dataclass(frozen=True)
class Plan:
    """What a session would do, as far as it has come.

    Attributes:
        description: cells, runs, and what is already there, in one phrase.
        looks: new runs of a cell in all at each look.
        judged: whether the budget's returns are judged.
        begun: any of its runs has a record.
        gates: the gate of the session and others.
        measured: how many runs are done and tell how long runs take here.
        seconds: of the runs of the next look that are left, one after the other, without
            evaluations on the way.
        makespan: of these runs on the workers, each with its start; None: not known.
        evaluations: of one run, the one after the training among them.
        not_judged: cells with stored runs -> what they are not judged by beside returns -> why.
        refused: what is left out and why, a line for each framework, algorithm and set.
        wanted: which gate sees the drop that was asked for; empty if none was.
    """

    description: str
    looks: tuple[int, ...]
    judged: bool
    cells: tuple[CellPlan, ...]
    begun: bool
    gates: tuple[Gate, ...]
    measured: int
    seconds: float
    makespan: Makespan | None
    evaluations: int
    not_judged: Mapping[str, Mapping[str, str]]
    refused: tuple[str, ...]
    wanted: tuple[Wanted, ...]


def plan(
    selection: Selection,
    seeds: int,
    store: str,
    one_look: bool = False,
    must_see: float | None = None,
    workers: int = 1,
) -> Plan:
    """The plan of a session; see ``open_session``.

    Args:
        workers: how many runs go on at a time.
        must_see: share of the stored mean whose loss is to be seen with 80 % power.

    Raises:
        UserError: as ``open_session``, and for a loss that is none by the rules.
    """
    if must_see is not None and must_see <= Rules.floor:
        raise UserError(
            f"--must-see is {100 * must_see:g}%, expected more than {Rules.floor:.0%}: no gate "
            "calls a smaller drop regressed, however sure it is (docs/verdicts.md, Floor)"
        )
    session = open_session(selection, seeds, store, one_look=one_look)
    until = _until(session)
    gates = candidates(session) if session.stored else ()
    measured = session.measured_in_store()
    cells = tuple(_cell(session, cell, until[cell]) for cell in session.cells)
    begun = any(cell.done for cell in cells)
    return Plan(
        session.describe(),
        session.looks.seeds,
        session.judged,
        cells,
        begun,
        gates,
        len(measured),
        sum(seconds for _, seconds in session.lengths_to_do(measured, until)),
        _makespan(session, measured, until, workers),
        budget(selection.budget).evaluations,
        {cell.id: why for cell in session.stored if (why := session.not_judged(cell))},
        tuple(refused(selection)),
        () if must_see is None else proposals(session, gates, must_see, begun),
    )


def _makespan(
    session: Session,
    measured: Sequence[tuple[str, float]],
    until: Mapping[Cell, int],
    workers: int,
) -> Makespan | None:
    known = baseline.every()
    spreads = {cell: schedule.spread(cell, known) for cell in session.cells}
    runs = session.lengths_to_do(measured, until)
    # a start takes as much longer here as a run does
    expected = [
        seconds + schedule.STARTUP_SECONDS * seconds / session.estimated_seconds(job.cell)
        if seconds
        else 0.0
        for job, seconds in runs
    ]
    return schedule.predict(expected, [spreads[job.cell] for job, _ in runs], workers)


def _cell(session: Session, cell: Cell, until: int) -> CellPlan:
    return CellPlan(
        cell.id,
        tuple(session.damaged(cell)),
        len(session.jobs(cell)) - len(session.undone(cell, session.looks.most)),
        until,
        len(session.undone(cell, until)),
        session.estimated_seconds(cell),
        cell in session.bands,
    )


def _until(session: Session) -> dict[Cell, int]:
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

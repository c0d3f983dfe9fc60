"""What a session would train, how long it takes, and what it could see; nothing is started."""

from __future__ import annotations

from dataclasses import dataclass

from rlregress.gate.judging import smallest_common_drop, smallest_visible_drop
from rlregress.gate.selection import Selection, refused
from rlregress.gate.session import open_session
from rlregress.training.budgets import budget


@dataclass(frozen=True)
class CellPlan:
    """One cell.

    Attributes:
        damaged: what is wrong with records that cannot be read.
        undone: runs that have no record yet.
        seconds: CPU seconds of one run, as far as stored runs tell.
        banded: it is judged against a published band, not against stored runs.
        drop: share of the stored mean that a drop needs to be seen; None: no drop can be seen.
    """

    name: str
    damaged: tuple[str, ...]
    undone: int
    seconds: float
    banded: bool
    drop: float | None


@dataclass(frozen=True)
class Plan:
    """A session that has not begun.

    Attributes:
        description: cells, runs, and what is already there, in one phrase.
        seeds: runs of each cell.
        judged: whether the budget's returns are judged.
        groups: name -> share of the stored means that its cells together must lose to be seen.
        measured: how many runs are done and tell how long runs take here.
        seconds: of all runs that are left, one after the other, without evaluations on the way.
        evaluations: of one run, the one after the training among them.
        refused: what is left out and why, a line for each framework, algorithm and set.
    """

    description: str
    seeds: int
    judged: bool
    cells: tuple[CellPlan, ...]
    groups: dict[str, float | None]
    measured: int
    seconds: float
    evaluations: int
    refused: tuple[str, ...]


def plan(selection: Selection, seeds: int, store: str) -> Plan:
    """The plan of a session; see ``open_session``."""
    session = open_session(selection, seeds, store)
    measured = session.measured_in_store()
    return Plan(
        session.describe(),
        session.seeds,
        session.judged,
        tuple(
            CellPlan(
                cell.id,
                tuple(session.damaged(cell)),
                len(session.undone(cell)),
                session.estimated_seconds(cell),
                cell in session.bands,
                smallest_visible_drop(session, cell) if session.judged else None,
            )
            for cell in session.cells
        ),
        {group: smallest_common_drop(session, group) for group in session.groups()},
        len(measured),
        session.seconds_to_do(measured),
        budget(selection.budget).evaluations,
        tuple(refused(selection)),
    )

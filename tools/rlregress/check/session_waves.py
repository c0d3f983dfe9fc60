"""Splits the runs of a session into waves: the runs of undecided cells up to the next look."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rlregress.check.judging import JUDGED_QUANTITIES, judge_present_runs
from rlregress.check.session import Session
from rlregress.model.cells import Verdict
from rlregress.model.planned_session import InterimVerdicts
from rlregress.model.verdict import REGRESSED
from rlregress.training.cell import Cell, Job
from rlregress.verdicts.sequential import GateProgress, build_verdicts_of_gate


@dataclass(frozen=True)
class Wave:
    """The runs that the next look waits for.

    Attributes:
        number: number of the look, from 1.
        total: largest number of looks.
        cells: number of undecided cells.
        jobs: their runs of this look, done or not.
        undone: those of them without a complete record.
    """

    number: int
    total: int
    cells: int
    jobs: tuple[Job, ...]
    undone: tuple[Job, ...]


def build_next_wave(session: Session) -> Wave | None:
    """Return the runs that the next look waits for; None if all needed runs are done."""
    gate = judge_present_runs(session) if session.stored else None
    blocks = [_list_next_jobs_of_cell(session, gate, cell) for cell in session.cells]
    jobs = [job for block in blocks for job in block]
    undone = [job for job in jobs if session.store.find_record(job) is None]
    if not undone:
        return None
    looks = gate.look if gate is not None else 0
    cells = sum(bool(block) for block in blocks)
    return Wave(looks + 1, len(session.looks.run_counts), cells, tuple(jobs), tuple(undone))


def _list_next_jobs_of_cell(session: Session, gate: GateProgress | None, cell: Cell) -> list[Job]:
    """Return the runs of a cell at the next look; none if it is decided."""
    jobs = session.list_jobs_of_cell(cell)
    if gate is None or cell not in session.stored:
        return jobs
    if not (gate.needed and _is_cell_undecided(gate, cell)):
        return []
    seeds = (0, *session.looks.run_counts)
    return jobs[seeds[gate.look] : seeds[gate.look + 1]]


def _is_cell_undecided(gate: GateProgress, cell: Cell) -> bool:
    return not gate.undecided.isdisjoint(
        quantity.make_verdict_name(cell.id) for quantity in JUDGED_QUANTITIES
    )


def build_interim_verdicts(session: Session) -> InterimVerdicts | None:
    """Return the verdicts of the looks taken so far; None before the first look."""
    gate = judge_present_runs(session) if session.stored else None
    if gate is None or gate.look == 0:
        return None
    so_far = build_verdicts_of_gate(replace(gate, needed={}))
    still_open = set(gate.undecided)
    still_open |= {
        name for name, group_cells in gate.groups.items() if not still_open.isdisjoint(group_cells)
    }
    verdicts: dict[str, Verdict] = {**so_far.cells, **so_far.groups}
    return InterimVerdicts(
        look=gate.look,
        verdicts={
            name: verdict
            for name, verdict in verdicts.items()
            if name not in still_open or verdict.verdict == REGRESSED
        },
        undecided=tuple(cell.id for cell in session.stored if _is_cell_undecided(gate, cell)),
    )

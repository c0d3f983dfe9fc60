"""The runs of a session in waves: each is what the next look needs of the cells still undecided."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rlregress.gate.judging import EVERY, course_of
from rlregress.gate.session import Session
from rlregress.model.cells import Verdict
from rlregress.model.planned_session import Standing
from rlregress.model.verdict import REGRESSED
from rlregress.training.cell import Cell, Job
from rlregress.verdicts.sequential import Course, build_verdicts


@dataclass(frozen=True)
class Wave:
    """The runs that the next look waits for.

    Attributes:
        number: of the look, from 1; ``of``: how many there are at most.
        cells: how many cells are still undecided.
        jobs: their runs of this look, done or not.
        left: those of them that have no whole record.
    """

    number: int
    of: int
    cells: int
    jobs: tuple[Job, ...]
    left: tuple[Job, ...]


def next_wave(session: Session) -> Wave | None:
    """The runs that the next look waits for; None: all that the gate needs is done."""
    course = course_of(session) if session.stored else None
    blocks = [_block(session, course, cell) for cell in session.cells]
    jobs = [job for block in blocks for job in block]
    left = [job for job in jobs if session.store.find_record(job) is None]
    if not left:
        return None
    looks = course.look if course is not None else 0
    cells = sum(bool(block) for block in blocks)
    return Wave(looks + 1, len(session.looks.seeds), cells, tuple(jobs), tuple(left))


def _block(session: Session, course: Course | None, cell: Cell) -> list[Job]:
    """The runs of a cell at the next look; none if it is decided."""
    jobs = session.jobs(cell)
    if course is None or cell not in session.stored:
        return jobs
    if not (course.needed and _undecided(course, cell)):
        return []
    seeds = (0, *session.looks.seeds)
    return jobs[seeds[course.look] : seeds[course.look + 1]]


def _undecided(course: Course, cell: Cell) -> bool:
    return not course.undecided.isdisjoint(of.named(cell.id) for of in EVERY)


def standing(session: Session) -> Standing | None:
    """What the looks that were taken say; None before the first, and where nothing is judged."""
    course = course_of(session) if session.stored else None
    if course is None or course.look == 0:
        return None
    so_far = build_verdicts(replace(course, needed={}))
    going_on = set(course.undecided)
    going_on |= {name for name, of in course.groups.items() if not going_on.isdisjoint(of)}
    verdicts: dict[str, Verdict] = {**so_far.cells, **so_far.groups}
    return Standing(
        look=course.look,
        verdicts={
            name: verdict
            for name, verdict in verdicts.items()
            if name not in going_on or verdict.verdict == REGRESSED
        },
        undecided=tuple(cell.id for cell in session.stored if _undecided(course, cell)),
    )

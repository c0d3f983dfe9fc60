"""What a session would train, what that costs, and what each gate could see; nothing is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlregress.errors import UserError
from rlregress.gate import baseline_runs, schedule
from rlregress.gate.candidates import candidates
from rlregress.gate.cell_selection import Selection, excluded
from rlregress.gate.judging import awaited_runs
from rlregress.gate.proposals import proposals
from rlregress.gate.session import Session, open_session
from rlregress.model.planned_session import CellPlan, Gate, Makespan, SessionPlan
from rlregress.model.quantities import RETURNS, quantity_of
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell
from rlregress.verdicts.rules import Rules


def plan(
    selection: Selection,
    seeds: int,
    store: str,
    one_look: bool = False,
    must_detect: float | None = None,
    workers: int = 1,
    replay_seed: int | None = None,
) -> SessionPlan:
    """The plan of a session; see ``open_session``.

    Args:
        workers: how many runs go on at a time.
        replay_seed: as of ``open_session``.
        must_detect: share of the stored mean whose loss is to be detected with 80 % power.

    Raises:
        UserError: as ``open_session``, and for a loss that is none by the rules.
    """
    if must_detect is not None and must_detect <= Rules.floor:
        raise UserError(
            f"--must-detect is {100 * must_detect:g}%, expected more than {Rules.floor:.0%}: "
            "no gate "
            "calls a smaller drop regressed, however sure it is (docs/statistics.md, Floor)"
        )
    session = open_session(selection, seeds, store, one_look=one_look, replay_seed=replay_seed)
    until = awaited_runs(session)
    gates = candidates(session) if session.stored else ()
    measured = session.measured_in_store()
    cells = tuple(_cell(session, cell, until[cell]) for cell in session.cells)
    begun = any(cell.done for cell in cells)
    return SessionPlan(
        description=session.describe(),
        looks=session.looks.seeds,
        judged=session.judged,
        cells=cells,
        begun=begun,
        gates=gates,
        measured=len(measured),
        seconds=sum(seconds for _, seconds in session.lengths_to_do(measured, until)),
        makespan=_makespan(session, measured, until, workers),
        evaluations=load_budget(selection.budget).evaluations,
        not_judged={cell.id: why for cell in session.stored if (why := session.not_judged(cell))},
        excluded=tuple(excluded(selection)),
        wanted=() if must_detect is None else proposals(session, gates, must_detect, begun),
        detects=_detects(session, gates),
    )


def _detects(
    session: Session, gates: Sequence[Gate]
) -> dict[str, dict[str, tuple[float | None, float | None]]]:
    """Framework -> algorithm -> the smallest drops that the chosen gate would detect in it.

    The first is of the returns of training or evaluation, the second of evaluation alone.
    """
    found: dict[str, dict[str, tuple[float | None, float | None]]] = {}
    for gate in (each for each in gates if each.chosen):
        drops = {**gate.cells, **gate.groups}
        for cell in session.stored:
            own = (f"{cell.group} ", f"{cell.group}-")
            of = {name: d for name, d in drops.items() if d and f"{name} ".startswith(own)}
            alone = [drop for name, drop in of.items() if quantity_of(name) is RETURNS]
            smallest = min(of.values(), default=None), min(alone, default=None)
            found.setdefault(cell.framework, {})[cell.algorithm] = smallest
    return found


def _makespan(
    session: Session,
    measured: Sequence[tuple[str, float]],
    until: Mapping[Cell, int],
    workers: int,
) -> Makespan | None:
    known = baseline_runs.every()
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
    recorded = session.replays.get(cell)
    return CellPlan(
        name=cell.id,
        damaged=tuple(session.damaged(cell)),
        done=len(session.jobs(cell)) - len(session.undone(cell, session.looks.max_runs)),
        until=until,
        undone=len(session.undone(cell, until)),
        seconds=session.estimated_seconds(cell),
        banded=cell in session.bands,
        replay=recorded.described if recorded else "",
        replay_seconds=recorded.run.time.cpu_seconds if recorded else 0.0,
    )

"""Plans a session: its trainings, their cost, and the detectable drops. Nothing is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlregress.check import baseline_runs, schedule
from rlregress.check.candidates import build_candidate_gates
from rlregress.check.cell_selection import Selection, describe_excluded_cells
from rlregress.check.judging import count_runs_for_next_look
from rlregress.check.proposals import propose_gates
from rlregress.check.session import Session
from rlregress.errors import UserError
from rlregress.model.planned_session import CellPlan, Gate, Makespan, SessionPlan
from rlregress.model.quantities import RETURNS, get_quantity_of_verdict_name
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell
from rlregress.verdicts.rules import Rules


def plan_session(
    selection: Selection,
    seeds: int,
    store: str,
    one_look: bool = False,
    must_detect: float | None = None,
    workers: int = 1,
    replay_seed: int | None = None,
) -> SessionPlan:
    """Return the plan of a session: cells, runs, expected time, and the drops that it detects.

    Args:
        workers: number of parallel runs.
        replay_seed: see ``Session``.
        must_detect: share of the stored mean whose loss is to be detected with 80 % power.

    Raises:
        UserError: as ``Session``, and for a loss below the floor of the rules.
    """
    if must_detect is not None and must_detect <= Rules.floor:
        raise UserError(
            f"--must-detect is {100 * must_detect:g}%, expected more than {Rules.floor:.0%}: "
            "no gate "
            "calls a smaller drop regressed, however sure it is (docs/statistics.md, Floor)"
        )
    session = Session(selection, seeds, store, one_look=one_look, replay_seed=replay_seed)
    awaited = count_runs_for_next_look(session)
    gates = build_candidate_gates(session) if session.stored else ()
    measured = session.list_measured_seconds()
    cells = tuple(_plan_cell(session, cell, awaited[cell]) for cell in session.cells)
    is_begun = any(cell.done for cell in cells)
    return SessionPlan(
        description=session.describe_session(),
        looks=session.looks.run_counts,
        judged=session.judged,
        cells=cells,
        begun=is_begun,
        gates=gates,
        measured=len(measured),
        seconds=sum(seconds for _, seconds in session.estimate_remaining_runs(measured, awaited)),
        makespan=_predict_makespan_of_session(session, measured, awaited, workers),
        evaluations=load_budget(selection.budget).evaluations,
        not_judged={
            cell.id: reasons
            for cell in session.stored
            if (reasons := session.explain_unjudged_quantities(cell))
        },
        excluded=tuple(describe_excluded_cells(selection)),
        wanted=() if must_detect is None else propose_gates(session, gates, must_detect, is_begun),
        detects=_compute_smallest_drops_by_algorithm(session, gates),
    )


def _compute_smallest_drops_by_algorithm(
    session: Session, gates: Sequence[Gate]
) -> dict[str, dict[str, tuple[float | None, float | None]]]:
    """Return framework -> algorithm -> the smallest drops that the session's gate detects.

    The first is for the returns of training or evaluation, the second for evaluation alone.
    """
    drops_by_framework: dict[str, dict[str, tuple[float | None, float | None]]] = {}
    for gate in (chosen_gate for chosen_gate in gates if chosen_gate.chosen):
        drops = {**gate.cells, **gate.groups}
        for cell in session.stored:
            prefixes = (f"{cell.group} ", f"{cell.group}-")
            cell_drops = {
                name: d for name, d in drops.items() if d and f"{name} ".startswith(prefixes)
            }
            evaluation_drops = [
                drop
                for name, drop in cell_drops.items()
                if get_quantity_of_verdict_name(name) is RETURNS
            ]
            smallest = min(cell_drops.values(), default=None), min(evaluation_drops, default=None)
            drops_by_framework.setdefault(cell.framework, {})[cell.algorithm] = smallest
    return drops_by_framework


def _predict_makespan_of_session(
    session: Session,
    timings: Sequence[tuple[str, float]],
    awaited: Mapping[Cell, int],
    workers: int,
) -> Makespan | None:
    baselines = baseline_runs.load_all_baselines()
    spreads = {cell: schedule.list_length_ratios(cell, baselines) for cell in session.cells}
    runs = session.estimate_remaining_runs(timings, awaited)
    # a process start is slowed down as much as a run
    expected = [
        seconds + schedule.STARTUP_SECONDS * seconds / session.estimate_seconds_of_cell(job.cell)
        if seconds
        else 0.0
        for job, seconds in runs
    ]
    return schedule.predict_makespan(expected, [spreads[job.cell] for job, _ in runs], workers)


def _plan_cell(session: Session, cell: Cell, awaited: int) -> CellPlan:
    replayable = session.replays.get(cell)
    return CellPlan(
        name=cell.id,
        damaged=tuple(session.describe_unreadable_records(cell)),
        done=len(session.list_jobs_of_cell(cell))
        - len(session.list_undone_jobs(cell, session.looks.max_runs)),
        until=awaited,
        undone=len(session.list_undone_jobs(cell, awaited)),
        seconds=session.estimate_seconds_of_cell(cell),
        banded=cell in session.bands,
        replay=replayable.description if replayable else "",
        replay_seconds=replayable.run.time.cpu_seconds if replayable else 0.0,
    )

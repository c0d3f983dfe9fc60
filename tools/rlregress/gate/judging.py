"""The verdicts on the returns of a session, judged together as one family."""

from __future__ import annotations

import math

import numpy as np

from rlregress.errors import UserError
from rlregress.gate import baseline, published
from rlregress.gate.session import Session
from rlregress.training.budgets import budget
from rlregress.training.cell import Cell
from rlregress.verdicts.bands import BandSample, BandVerdict, judge_bands
from rlregress.verdicts.ceiling import at_ceiling
from rlregress.verdicts.effect import scale_of
from rlregress.verdicts.fixed import judge_cells
from rlregress.verdicts.outcome import CellSample, CellVerdict, GroupVerdict
from rlregress.verdicts.power import smallest_group_drop
from rlregress.verdicts.rules import visible_drop

Verdict = CellVerdict | GroupVerdict | BandVerdict


def judge(session: Session) -> dict[str, Verdict]:
    """Wait for the runs of the session, then judge all cells and groups; by name.

    Cells with stored runs and cells with published bands are two families; where both occur, each
    gets half of the session's error rate.
    """
    session.wait()
    alpha = session.alpha / 2 if session.stored and session.bands else session.alpha
    verdicts: dict[str, Verdict] = {}
    worst = _worst_returns()
    if session.stored:
        of_cells = judge_cells(
            {cell.id: _sample(session, cell, worst) for cell in session.stored}, alpha=alpha
        )
        verdicts.update(of_cells.cells)
        verdicts.update(of_cells.groups)
    if session.bands:
        table = budget(session.cells[0].budget).published
        samples = {
            cell.id: BandSample(
                band,
                [_counted(cell, value, worst) for value in _returns(session, cell)],
                published.ceiling_counts(cell, table),
            )
            for cell, band in session.bands.items()
        }
        verdicts.update(judge_bands(samples, alpha=alpha))
    return verdicts


def _returns(session: Session, cell: Cell) -> list[float]:
    """Final returns of the new runs, NaN for a run that failed."""
    values = []
    for job in session.jobs(cell):
        run_record = session.store.find(job)
        if run_record is None:
            raise UserError(
                f"the record of {cell.id} seed {job.seed} is damaged; start the same command "
                "again: it does only this run"
            )
        values.append(
            math.nan if run_record["final_return"] is None else run_record["final_return"]
        )
    return values


def _worst_returns() -> dict[str, float]:
    """The worst recorded return per environment: what a run that failed counts as."""
    worst: dict[str, float] = {}
    for stored in baseline.every():
        environment = stored.cell.environment
        if stored.returns:
            worst[environment] = min([*stored.returns, worst.get(environment, math.inf)])
    return worst


def _counted(cell: Cell, value: float, worst: dict[str, float]) -> float:
    if math.isfinite(value):
        return value
    if cell.environment not in worst:
        raise UserError(
            f"a run of {cell.id} failed and no return in {cell.environment} is recorded that it "
            "could count as; record a cell of that environment first"
        )
    return worst[cell.environment]


def _sample(session: Session, cell: Cell, worst: dict[str, float]) -> CellSample:
    stored = session.stored[cell]
    return CellSample(
        stored=stored.returns + [math.nan] * stored.failed,
        new=_returns(session, cell),
        group=cell.group,
        worst=worst.get(cell.environment),
    )


def smallest_visible_drop(session: Session, cell: Cell) -> float | None:
    """Share of the stored mean that a drop needs to be seen with 80 % power; None: no drop is.

    Known before anything is trained: it depends on the stored runs and on the numbers of seeds.
    """
    if cell not in session.stored:
        return None
    stored = np.array(session.stored[cell].returns)
    drop = visible_drop(stored, session.seeds, _hypotheses(session), session.alpha)
    return None if drop is None else drop / scale_of(stored)


def smallest_common_drop(session: Session, group: str) -> float | None:
    """Share of the stored means that all cells of a group must lose to be seen with 80 % power."""
    members = [stored for cell, stored in session.stored.items() if cell.group == group]
    returns = [np.array(stored.returns) for stored in members]
    spreads = [
        math.nan if at_ceiling(values) else float(values.std(ddof=1)) / scale_of(values)
        for values in returns
    ]
    seeds = [(len(values), session.seeds) for values in returns]
    drop = smallest_group_drop(seeds, spreads, _hypotheses(session), session.alpha)
    return drop if math.isfinite(drop) else None


def _hypotheses(session: Session) -> int:
    return len(session.stored) + len(session.groups())

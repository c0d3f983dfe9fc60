"""What a session would train, what that costs, and what each gate could see; nothing is started."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rlregress.errors import UserError
from rlregress.gate import baseline, schedule
from rlregress.gate.judging import (
    EVERY,
    course_of,
    expected_new_runs,
    family,
    relative_sds,
    smallest_common_drop,
    smallest_visible_drop,
)
from rlregress.gate.schedule import Makespan
from rlregress.gate.selection import Selection, refused
from rlregress.gate.session import Session, open_session
from rlregress.training.budgets import budget
from rlregress.training.cell import Cell
from rlregress.verdicts.looks import SEQUENTIAL, Looks, fixed
from rlregress.verdicts.missing import seeds_for_cell, seeds_for_group
from rlregress.verdicts.outcome import Rules
from rlregress.verdicts.quantity import (
    CRITIC,
    ONE_SIDED,
    RETURNS,
    TRAINING,
    Quantity,
    cell_of,
    percent,
)

#: new runs of the gates of fixed size that a plan compares with.
_FIXED = (5, 10, 20)


@dataclass(frozen=True)
class CellPlan:
    """One cell.

    Attributes:
        damaged: what is wrong with records that cannot be read.
        done: runs that are done, up to the first that is not.
        decided: they decide all that is judged of it.
        undone: runs of the first look that have no record yet.
        seconds: CPU seconds of one run, as far as stored runs tell.
        banded: it is judged against a published band, not against stored runs.
    """

    name: str
    damaged: tuple[str, ...]
    done: int
    decided: bool
    undone: int
    seconds: float
    banded: bool


@dataclass(frozen=True)
class Gate:
    """What one gate sees with 80 % power, and what it costs if no run is done yet.

    Attributes:
        name: what the gate is called, and the options that ask for it.
        chosen: it is the gate of the session.
        cells: cells, and what of them is judged by the training too -> share of the stored mean
            that a drop needs to be seen; None: none is.
        groups: the same of groups -> share of the stored means that the cells must lose together.
        critics: cells and then groups whose critics are judged -> how many times as large an
            error has to be to be seen; None: none is.
        expected: CPU seconds on average, if nothing changed.
        most: CPU seconds, if every cell comes to the last look.
        left, most_left: the same of the runs that are not done yet.
    """

    name: str
    chosen: bool
    cells: Mapping[str, float | None]
    groups: Mapping[str, float | None]
    critics: Mapping[str, float | None]
    expected: float
    most: float
    left: float
    most_left: float


@dataclass(frozen=True)
class Wanted:
    """Which gate sees a drop that is asked for.

    Attributes:
        what: the drop, and the cells that it is about, in words.
        gate: the cheapest one that sees it in all of them, or in their groups; None: none does.
        missing: of each cell or group in which none does, what would.
        unknown: why what a gate sees is not known; empty if it is.
    """

    what: str
    gate: Gate | None
    missing: Mapping[str, str]
    unknown: str = ""


@dataclass(frozen=True)
class Plan:
    """A session that has not begun.

    Attributes:
        description: cells, runs, and what is already there, in one phrase.
        looks: new runs of a cell in all at each look.
        judged: whether the budget's returns are judged.
        gates: the gate of the session and others.
        measured: how many runs are done and tell how long runs take here.
        seconds: of the runs of the first look that are left, one after the other, without
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
    decided = _decided(session)
    gates = _gates(session, decided) if session.stored else ()
    measured = session.measured_in_store()
    return Plan(
        session.describe(),
        session.looks.seeds,
        session.judged,
        tuple(
            CellPlan(
                cell.id,
                tuple(session.damaged(cell)),
                len(session.final_returns(cell)),
                cell in decided,
                len(session.undone(cell)),
                session.estimated_seconds(cell),
                cell in session.bands,
            )
            for cell in session.cells
        ),
        gates,
        len(measured),
        session.seconds_to_do(measured),
        _makespan(session, measured, workers),
        budget(selection.budget).evaluations,
        {cell.id: why for cell in session.stored if (why := session.not_judged(cell))},
        tuple(refused(selection)),
        () if must_see is None else _wanted(session, gates, must_see),
    )


def _makespan(
    session: Session, measured: Sequence[tuple[str, float]], workers: int
) -> Makespan | None:
    known = baseline.every()
    spreads = {cell: schedule.spread(cell, known) for cell in session.cells}
    runs = session.lengths_to_do(measured)
    # a start takes as much longer here as a run does
    expected = [
        seconds + schedule.STARTUP_SECONDS * seconds / session.estimated_seconds(job.cell)
        if seconds
        else 0.0
        for job, seconds in runs
    ]
    return schedule.predict(expected, [spreads[job.cell] for job, _ in runs], workers)


def _decided(session: Session) -> frozenset[Cell]:
    """The cells of which the runs that are done decide all that is judged."""
    if not session.stored:
        return frozenset()
    open_ = course_of(session).undecided
    return frozenset(
        cell for cell in session.stored if not open_.intersection(of.named(cell.id) for of in EVERY)
    )


def _gates(session: Session, decided: Collection[Cell]) -> tuple[Gate, ...]:
    every = list(dict.fromkeys([_looks(session), *(fixed(n) for n in _FIXED)]))
    if session.looks not in every:
        every.append(session.looks)
    groups: dict[Quantity, list[str]] = {
        of: sorted({name for looks in every for name in session.groups(of, looks)})
        for of in ONE_SIDED
    }
    none: frozenset[Cell] = frozenset()
    return tuple(
        _gate(session, looks, groups, decided if looks == session.looks else none)
        for looks in every
    )


def _gate(
    session: Session,
    looks: Looks,
    groups: Mapping[Quantity, Sequence[str]],
    decided: Collection[Cell],
) -> Gate:
    seconds = {cell: session.estimated_seconds(cell) for cell in session.cells}
    expected = {cell: expected_new_runs(session, cell, looks) for cell in session.cells}
    left = {
        cell: (max(expected[cell] - done, 0.0) * of_run, max(looks.most - done, 0) * of_run)
        for cell, of_run in seconds.items()
        if cell not in decided and (done := len(session.final_returns(cell))) < looks.most
    }
    return Gate(
        f"--seeds {looks.most}" if len(looks.seeds) == 1 else "sequential",
        looks == session.looks,
        _of_cells(session, looks, RETURNS) | _of_cells(session, looks, TRAINING),
        _of_groups(session, looks, RETURNS, groups) | _of_groups(session, looks, TRAINING, groups),
        _critics(session, looks, groups),
        sum(expected[cell] * of_run for cell, of_run in seconds.items()),
        sum(looks.most * of_run for of_run in seconds.values()),
        sum(of_cell for of_cell, _ in left.values()),
        sum(of_cell for _, of_cell in left.values()),
    )


def _of_cells(session: Session, looks: Looks, of: Quantity) -> dict[str, float | None]:
    return {
        of.named(cell.id): smallest_visible_drop(session, cell, looks, of)
        for cell in session.judged_by(of)
    }


def _of_groups(
    session: Session, looks: Looks, of: Quantity, groups: Mapping[Quantity, Sequence[str]]
) -> dict[str, float | None]:
    return {name: smallest_common_drop(session, name, looks, of) for name in groups[of]}


def _critics(
    session: Session, looks: Looks, groups: Mapping[Quantity, Sequence[str]]
) -> dict[str, float | None]:
    seen = _of_cells(session, looks, CRITIC) | _of_groups(session, looks, CRITIC, groups)
    return {name: None if drop is None else math.exp(drop) for name, drop in seen.items()}


def _wanted(session: Session, gates: tuple[Gate, ...], share: float) -> tuple[Wanted, ...]:
    drop = f"a drop of {100 * share:g}%"
    every, stored = len(session.cells), len(session.stored)
    if not stored:
        return (Wanted(f"{drop} in any one of {every} cells", None, {}, _unknown(session)),)
    alone = _cheapest(gates, lambda gate: gate.cells, share)
    rest = f" of the {stored} that have stored runs, of {every}" if stored < every else ""
    wanted = [
        Wanted(
            f"{drop} in any one cell{rest}, that its evaluation or its training shows",
            alone,
            {} if alone else _missing_in_cells(session, gates, share),
        )
    ]
    if gates[0].groups:
        common = _cheapest(gates, lambda gate: gate.groups, share)
        wanted.append(
            Wanted(
                f"{drop} that the cells of a group have in common, shown by one or the other",
                common,
                {} if common else _missing_in_groups(session, gates, share),
            )
        )
    return tuple(wanted)


def _unknown(session: Session) -> str:
    """Why nothing is known of what gates see of a session's cells."""
    why = "it is reckoned from stored runs, and none of these cells has any"
    if session.bands:
        why += "; the published band that they are judged by does not tell it"
    return f"{why}; name cells that have some, such as --cells all"


def _cheapest(
    gates: tuple[Gate, ...], drops: Callable[[Gate], Mapping[str, float | None]], share: float
) -> Gate | None:
    """The gate with the least to expect still that sees the share everywhere; None: none does."""
    seeing = [
        gate
        for gate in gates
        if all(_sees(drop, share) for drop in _of_either(drops(gate)).values())
    ]
    return min(seeing, key=_cost, default=None)


def _cost(gate: Gate) -> tuple[float, ...]:
    # what is trained already costs nothing more, and the gate of the session needs no option
    return gate.left, gate.most_left, not gate.chosen


def _of_either(drops: Mapping[str, float | None]) -> dict[str, float | None]:
    """Of each cell or group the smaller drop: what its return sees, or what its training sees."""
    best: dict[str, float | None] = {}
    for name, drop in drops.items():
        own = cell_of(name)
        known = [each for each in (best.get(own), drop) if each is not None]
        best[own] = min(known, default=None)
    return best


def _sharper(session: Session, cells: Sequence[Cell]) -> Quantity:
    """What of some cells sees smaller drops: their training, where it is judged."""
    return TRAINING if set(cells) <= set(session.judged_by(TRAINING)) else RETURNS


def _missing_in_cells(session: Session, gates: tuple[Gate, ...], share: float) -> Mapping[str, str]:
    looks = _looks(session)
    missing = {}
    for cell, stored in session.stored.items():
        if _seen(share, (_of_either(gate.cells)[cell.id] for gate in gates)):
            continue
        of = _sharper(session, [cell])
        numbers = np.array(stored.numbers(of))
        missing[cell.id] = seeds_for_cell(
            numbers[np.isfinite(numbers)], looks, *family(session, of, looks), share
        )
    return missing


def _missing_in_groups(
    session: Session, gates: tuple[Gate, ...], share: float
) -> Mapping[str, str]:
    looks = _looks(session)
    missing = {}
    for group in _of_either(gates[0].groups):
        if _seen(share, (_of_either(gate.groups)[group] for gate in gates)):
            continue
        cells = [cell for cell in session.stored if cell.group == group]
        of = _sharper(session, cells)
        name = of.named(group)
        visible = smallest_common_drop(session, name, looks, of)
        fewest = min(len(session.stored[cell].returns) for cell in cells)
        missing[group] = (
            "its cells have too few seeds, or stand at a ceiling"
            if visible is None
            else seeds_for_group(
                fewest, relative_sds(session, name, looks, of), looks, visible, share
            )
        )
    return missing


def _looks(session: Session) -> Looks:
    """The looks that what is missing is reckoned from: several where the store allows it."""
    several = not (session.bands or session.one_look_because)
    return SEQUENTIAL if several else fixed(_FIXED[-1])


def _sees(smallest: float | None, share: float) -> bool:
    """Whether a gate that sees a smallest drop sees a share, as exactly as both are shown."""
    return smallest is not None and (smallest <= share or percent(smallest) == percent(share))


def _seen(share: float, drops: Iterable[float | None]) -> bool:
    return any(_sees(drop, share) for drop in drops)

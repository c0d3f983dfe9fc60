"""Which gate sees a drop that is asked for, or what is missing where none does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from rlregress.gate.candidates import looks_allowed
from rlregress.gate.judging import family, relative_sds, smallest_common_drop
from rlregress.gate.session import Session
from rlregress.model.planned_session import Gate, Wanted
from rlregress.model.quantities import RETURNS, TRAINING, Quantity, cell_of, percent
from rlregress.training.cell import Cell
from rlregress.verdicts.missing import suggest_cell_seeds, suggest_group_seeds


def proposals(
    session: Session, gates: tuple[Gate, ...], share: float, begun: bool
) -> tuple[Wanted, ...]:
    """For a drop in any one cell, and for one that the cells of a group have in common.

    Args:
        gates: those that are compared; none where no cell has stored runs.
        share: of the scale, that is to be seen.
        begun: the session has runs; then its own gate is proposed wherever it sees the drop, as
            one that is chosen when runs are known has not the error rates that it states.
    """

    def cheapest(drops: Callable[[Gate], Mapping[str, float | None]]) -> Gate | None:
        seeing = [
            gate
            for gate in gates
            if all(_detects(drop, share) for drop in _of_either(drops(gate)).values())
        ]
        own = [gate for gate in seeing if begun and gate.chosen]
        return min(own or seeing, key=lambda gate: (gate.expected, gate.most), default=None)

    drop = f"a drop of {100 * share:g}%"
    every, stored = len(session.cells), len(session.stored)
    if not stored:
        return (
            Wanted(
                what=f"{drop} in any one of {every} cells",
                gate=None,
                missing={},
                unknown=_unknown(session),
            ),
        )
    alone = cheapest(lambda gate: gate.cells)
    rest = f" of the {stored} that have stored runs, of {every}" if stored < every else ""
    wanted = [
        Wanted(
            what=f"{drop} in any one cell{rest}, that its evaluation or its training shows",
            gate=alone,
            missing={} if alone else _missing_in_cells(session, gates, share),
        )
    ]
    if gates[0].groups:
        common = cheapest(lambda gate: gate.groups)
        wanted.append(
            Wanted(
                what=f"{drop} that the cells of a group have in common, shown by one or the other",
                gate=common,
                missing={} if common else _missing_in_groups(session, gates, share),
            )
        )
    return tuple(wanted)


def _unknown(session: Session) -> str:
    """Why nothing is known of what gates see of a session's cells."""
    why = "it is reckoned from stored runs, and none of these cells has any"
    if session.bands:
        why += "; the published band that they are judged by does not tell it"
    return f"{why}; name cells that have some, such as --cells all"


def _of_either(drops: Mapping[str, float | None]) -> dict[str, float | None]:
    """Of each cell or group the smaller drop: what its return sees, or what its training sees."""
    best: dict[str, float | None] = {}
    for name, drop in drops.items():
        own = cell_of(name)
        known = [value for value in (best.get(own), drop) if value is not None]
        best[own] = min(known, default=None)
    return best


def _sharper(session: Session, cells: Sequence[Cell]) -> Quantity:
    """What of some cells sees smaller drops: their training, where it is judged."""
    return TRAINING if set(cells) <= set(session.judged_by(TRAINING)) else RETURNS


def _missing_in_cells(session: Session, gates: tuple[Gate, ...], share: float) -> Mapping[str, str]:
    looks = looks_allowed(session)
    missing = {}
    for cell, stored in session.stored.items():
        if _is_detected(share, (_of_either(gate.cells)[cell.id] for gate in gates)):
            continue
        of = _sharper(session, [cell])
        numbers = np.array(stored.numbers(of))
        missing[cell.id] = suggest_cell_seeds(
            numbers[np.isfinite(numbers)], looks, *family(session, of, looks), share
        )
    return missing


def _missing_in_groups(
    session: Session, gates: tuple[Gate, ...], share: float
) -> Mapping[str, str]:
    looks = looks_allowed(session)
    missing = {}
    for group in _of_either(gates[0].groups):
        if _is_detected(share, (_of_either(gate.groups)[group] for gate in gates)):
            continue
        cells = [cell for cell in session.stored if cell.group == group]
        of = _sharper(session, cells)
        name = of.named(group)
        visible = smallest_common_drop(session, name, looks, of)
        fewest = min(len(session.stored[cell].returns) for cell in cells)
        missing[group] = (
            "its cells have too few seeds, or stand at a ceiling"
            if visible is None
            else suggest_group_seeds(
                fewest, relative_sds(session, name, looks, of), looks, visible, share
            )
        )
    return missing


def _detects(smallest: float | None, share: float) -> bool:
    """Whether a gate that sees a smallest drop sees a share, as exactly as both are shown."""
    return smallest is not None and (smallest <= share or percent(smallest) == percent(share))


def _is_detected(share: float, drops: Iterable[float | None]) -> bool:
    return any(_detects(drop, share) for drop in drops)

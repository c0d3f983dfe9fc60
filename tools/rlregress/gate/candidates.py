"""The gates that a plan compares: what each would see, and what it would cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rlregress.gate.judging import (
    expected_seconds,
    smallest_common_drop,
    smallest_visible_drop,
)
from rlregress.gate.session import Session
from rlregress.model.planned_session import Gate
from rlregress.model.quantities import CRITIC, ONE_SIDED, RETURNS, TRAINING, Quantity
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS, Looks, single_look

#: new runs of the gates of fixed size that a plan compares with.
_FIXED = (5, 10, 20)


def candidates(session: Session) -> tuple[Gate, ...]:
    """The sequential gate where it can be, those of fixed size, and that of the session.

    Args:
        session: with stored runs.
    """
    every = list(dict.fromkeys([looks_allowed(session), *(single_look(n) for n in _FIXED)]))
    if session.looks not in every:
        every.append(session.looks)
    groups: dict[Quantity, list[str]] = {
        of: sorted({name for looks in every for name in session.groups(of, looks)})
        for of in ONE_SIDED
    }
    return tuple(_gate(session, looks, groups) for looks in every)


def _gate(session: Session, looks: Looks, groups: Mapping[Quantity, Sequence[str]]) -> Gate:
    seconds = {cell: session.estimated_seconds(cell) for cell in session.cells}
    return Gate(
        seeds=looks.max_runs if len(looks.seeds) == 1 else 0,
        chosen=looks == session.looks,
        cells=_of_cells(session, looks, RETURNS) | _of_cells(session, looks, TRAINING),
        groups=_of_groups(session, looks, RETURNS, groups)
        | _of_groups(session, looks, TRAINING, groups),
        critics=_critics(session, looks, groups),
        expected=expected_seconds(session, looks),
        most=sum(looks.max_runs * of_run for of_run in seconds.values()),
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
    detectable = _of_cells(session, looks, CRITIC) | _of_groups(session, looks, CRITIC, groups)
    return {name: None if drop is None else math.exp(drop) for name, drop in detectable.items()}


def looks_allowed(session: Session) -> Looks:
    """The looks that what is missing is reckoned from: several where the store allows it."""
    several = not (session.bands or session.one_look_because)
    return SEQUENTIAL_LOOKS if several else single_look(_FIXED[-1])

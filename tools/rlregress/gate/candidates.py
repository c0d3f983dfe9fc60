"""The gates that a plan compares: what each would see, and what it would cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlregress.gate.judging import (
    expected_new_runs,
    smallest_common_drop,
    smallest_visible_drop,
)
from rlregress.gate.session import Session
from rlregress.model.quantities import CRITIC, ONE_SIDED, RETURNS, TRAINING, Quantity
from rlregress.verdicts.looks import SEQUENTIAL, Looks, fixed

#: new runs of the gates of fixed size that a plan compares with.
_FIXED = (5, 10, 20)


@dataclass(frozen=True)
class Gate:
    """What one gate sees with 80 % power, and what it costs if no run is done yet.

    Attributes:
        seeds: new runs of a cell, judged at one look; 0: the sequential gate.
        chosen: it is the gate of the session.
        cells: cells, and what of them is judged by the training too -> share of the stored mean
            that a drop needs to be seen; None: none is.
        groups: the same of groups -> share of the stored means that the cells must lose together.
        critics: cells and then groups whose critics are judged -> how many times as large an
            error has to be to be seen; None: none is.
        expected: CPU seconds on average, if nothing changed.
        most: CPU seconds, if every cell comes to the last look.
    """

    seeds: int
    chosen: bool
    cells: Mapping[str, float | None]
    groups: Mapping[str, float | None]
    critics: Mapping[str, float | None]
    expected: float
    most: float

    @property
    def name(self) -> str:
        """What the gate is called: the option that asks for it, if it takes one."""
        return f"--seeds {self.seeds}" if self.seeds else "sequential"


def candidates(session: Session) -> tuple[Gate, ...]:
    """The sequential gate where it can be, those of fixed size, and that of the session.

    Args:
        session: with stored runs.
    """
    every = list(dict.fromkeys([looks_allowed(session), *(fixed(n) for n in _FIXED)]))
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
        looks.most if len(looks.seeds) == 1 else 0,
        looks == session.looks,
        _of_cells(session, looks, RETURNS) | _of_cells(session, looks, TRAINING),
        _of_groups(session, looks, RETURNS, groups) | _of_groups(session, looks, TRAINING, groups),
        _critics(session, looks, groups),
        sum(expected_new_runs(session, cell, looks) * of_run for cell, of_run in seconds.items()),
        sum(looks.most * of_run for of_run in seconds.values()),
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


def looks_allowed(session: Session) -> Looks:
    """The looks that what is missing is reckoned from: several where the store allows it."""
    several = not (session.bands or session.one_look_because)
    return SEQUENTIAL if several else fixed(_FIXED[-1])

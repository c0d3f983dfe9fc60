"""Builds the gates that a plan compares, each with its cost and the drops that it would detect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rlregress.check.judging import (
    compute_smallest_common_drop,
    compute_smallest_visible_drop,
    estimate_session_seconds,
)
from rlregress.check.session import Session
from rlregress.model.planned_session import Gate
from rlregress.model.quantities import CRITIC, ONE_SIDED, RETURNS, TRAINING, Quantity
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS, Looks, make_single_look

#: new runs of the gates of fixed size that a plan compares
_FIXED_SEEDS = (5, 10, 20)


def build_candidate_gates(session: Session) -> tuple[Gate, ...]:
    """Return gates to choose from: a sequential one if possible, fixed ones, the session's own.

    Args:
        session: a session with stored runs.
    """
    all_looks = list(
        dict.fromkeys(
            [choose_looks_for_estimates(session), *(make_single_look(n) for n in _FIXED_SEEDS)]
        )
    )
    if session.looks not in all_looks:
        all_looks.append(session.looks)
    groups: dict[Quantity, list[str]] = {
        quantity: sorted(
            {name for looks in all_looks for name in session.list_group_names(quantity, looks)}
        )
        for quantity in ONE_SIDED
    }
    return tuple(_build_gate(session, looks, groups) for looks in all_looks)


def _build_gate(session: Session, looks: Looks, groups: Mapping[Quantity, Sequence[str]]) -> Gate:
    seconds = {cell: session.estimate_seconds_of_cell(cell) for cell in session.cells}
    return Gate(
        seeds=looks.max_runs if len(looks.run_counts) == 1 else 0,
        chosen=looks == session.looks,
        cells=_compute_detectable_drops_of_cells(session, looks, RETURNS)
        | _compute_detectable_drops_of_cells(session, looks, TRAINING),
        groups=_compute_detectable_drops_of_groups(session, looks, RETURNS, groups)
        | _compute_detectable_drops_of_groups(session, looks, TRAINING, groups),
        critics=_compute_detectable_growth_of_critic_error(session, looks, groups),
        expected=estimate_session_seconds(session, looks),
        most=sum(looks.max_runs * run_seconds for run_seconds in seconds.values()),
    )


def _compute_detectable_drops_of_cells(
    session: Session, looks: Looks, quantity: Quantity
) -> dict[str, float | None]:
    return {
        quantity.make_verdict_name(cell.id): compute_smallest_visible_drop(
            session, cell, looks, quantity
        )
        for cell in session.list_cells_judged_by(quantity)
    }


def _compute_detectable_drops_of_groups(
    session: Session, looks: Looks, quantity: Quantity, groups: Mapping[Quantity, Sequence[str]]
) -> dict[str, float | None]:
    return {
        name: compute_smallest_common_drop(session, name, looks, quantity)
        for name in groups[quantity]
    }


def _compute_detectable_growth_of_critic_error(
    session: Session, looks: Looks, groups: Mapping[Quantity, Sequence[str]]
) -> dict[str, float | None]:
    detectable = _compute_detectable_drops_of_cells(
        session, looks, CRITIC
    ) | _compute_detectable_drops_of_groups(session, looks, CRITIC, groups)
    return {name: None if drop is None else math.exp(drop) for name, drop in detectable.items()}


def choose_looks_for_estimates(session: Session) -> Looks:
    """Return the looks by which missing runs are estimated: several if the stored runs suffice."""
    allows_several = not (session.bands or session.one_look_reason)
    return SEQUENTIAL_LOOKS if allows_several else make_single_look(_FIXED_SEEDS[-1])

"""Proposes the gate that detects a requested drop, or names what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from rlregress.check.candidates import choose_looks_for_estimates
from rlregress.check.judging import (
    compute_smallest_common_drop,
    count_hypotheses_and_compute_alpha,
    list_relative_spreads_of_stored_runs,
)
from rlregress.check.session import Session
from rlregress.model.planned_session import Gate, GateProposal
from rlregress.model.quantities import (
    RETURNS,
    TRAINING,
    Quantity,
    format_percent,
    get_cell_of_verdict_name,
)
from rlregress.training.cell import Cell
from rlregress.verdicts.missing import suggest_seeds_of_cell, suggest_seeds_of_group


def propose_gates(
    session: Session, gates: tuple[Gate, ...], share: float, is_begun: bool
) -> tuple[GateProposal, ...]:
    """Propose gates for a drop in any one cell, and for a common drop of a group.

    Args:
        gates: the compared gates; none if no cell has stored runs.
        share: the drop to detect, as a share of the scale.
        is_begun: whether the session has runs. Then its own gate is proposed wherever it detects
            the drop: a gate chosen after seeing runs does not keep its error rates.
    """

    def find_cheapest_gate(drops: Callable[[Gate], Mapping[str, float | None]]) -> Gate | None:
        detecting = [
            gate
            for gate in gates
            if all(
                _is_drop_detectable(drop, share)
                for drop in _choose_smaller_drop_of_each_cell(drops(gate)).values()
            )
        ]
        session_gates = [gate for gate in detecting if is_begun and gate.chosen]
        return min(
            session_gates or detecting, key=lambda gate: (gate.expected, gate.most), default=None
        )

    drop = f"a drop of {100 * share:g}%"
    cell_count, stored_count = len(session.cells), len(session.stored)
    if not stored_count:
        return (
            GateProposal(
                what=f"{drop} in any one of {cell_count} cells",
                gate=None,
                missing={},
                unknown=_explain_unknown_drops(session),
            ),
        )
    cell_gate = find_cheapest_gate(lambda gate: gate.cells)
    restriction = (
        f" of the {stored_count} that have stored runs, of {cell_count}"
        if stored_count < cell_count
        else ""
    )
    proposals = [
        GateProposal(
            what=f"{drop} in any one cell{restriction}, that its evaluation or its training shows",
            gate=cell_gate,
            missing={} if cell_gate else _suggest_gates_for_cells(session, gates, share),
        )
    ]
    # all gates list the same groups
    if gates[0].groups:
        group_gate = find_cheapest_gate(lambda gate: gate.groups)
        proposals.append(
            GateProposal(
                what=f"{drop} that the cells of a group have in common, shown by one or the other",
                gate=group_gate,
                missing={} if group_gate else _suggest_gates_for_groups(session, gates, share),
            )
        )
    return tuple(proposals)


def _explain_unknown_drops(session: Session) -> str:
    """Explain why the detectable drops of a session's cells are unknown."""
    reason = "it is computed from stored runs, and none of these cells has any"
    if session.bands:
        reason += "; the published bands that judge them do not suffice"
    return f"{reason}; name cells that have some, such as --cells all"


def _choose_smaller_drop_of_each_cell(drops: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return for each cell or group the smaller drop of its evaluation and its training."""
    best: dict[str, float | None] = {}
    for name, drop in drops.items():
        cell = get_cell_of_verdict_name(name)
        drops_of_cell = [value for value in (best.get(cell), drop) if value is not None]
        best[cell] = min(drops_of_cell, default=None)
    return best


def _choose_more_sensitive_quantity(session: Session, cells: Sequence[Cell]) -> Quantity:
    """Return the quantity that detects smaller drops: training returns, where they are judged."""
    return TRAINING if set(cells) <= set(session.list_cells_judged_by(TRAINING)) else RETURNS


def _suggest_gates_for_cells(
    session: Session, gates: tuple[Gate, ...], share: float
) -> Mapping[str, str]:
    looks = choose_looks_for_estimates(session)
    missing = {}
    for cell, stored in session.stored.items():
        if _is_any_drop_detectable(
            share, (_choose_smaller_drop_of_each_cell(gate.cells)[cell.id] for gate in gates)
        ):
            continue
        quantity = _choose_more_sensitive_quantity(session, [cell])
        numbers = np.array(stored.list_values_of_quantity(quantity))
        missing[cell.id] = suggest_seeds_of_cell(
            numbers[np.isfinite(numbers)],
            looks,
            *count_hypotheses_and_compute_alpha(session, quantity, looks),
            share,
        )
    return missing


def _suggest_gates_for_groups(
    session: Session, gates: tuple[Gate, ...], share: float
) -> Mapping[str, str]:
    looks = choose_looks_for_estimates(session)
    missing = {}
    for group in _choose_smaller_drop_of_each_cell(gates[0].groups):
        if _is_any_drop_detectable(
            share, (_choose_smaller_drop_of_each_cell(gate.groups)[group] for gate in gates)
        ):
            continue
        cells = [cell for cell in session.stored if cell.group == group]
        quantity = _choose_more_sensitive_quantity(session, cells)
        name = quantity.make_verdict_name(group)
        visible = compute_smallest_common_drop(session, name, looks, quantity)
        fewest = min(len(session.stored[cell].returns) for cell in cells)
        missing[group] = (
            "its cells have too few seeds, or stand at a ceiling"
            if visible is None
            else suggest_seeds_of_group(
                fewest,
                list_relative_spreads_of_stored_runs(session, name, looks, quantity),
                looks,
                visible,
                share,
            )
        )
    return missing


def _is_drop_detectable(smallest: float | None, share: float) -> bool:
    """Return whether a gate detects a share, at the precision at which both are shown."""
    return smallest is not None and (
        smallest <= share or format_percent(smallest) == format_percent(share)
    )


def _is_any_drop_detectable(share: float, drops: Iterable[float | None]) -> bool:
    return any(_is_drop_detectable(drop, share) for drop in drops)

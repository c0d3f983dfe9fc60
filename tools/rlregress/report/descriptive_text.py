"""Describes the runs of a cell in addition to the verdict. Nothing here decides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rlregress.model.cells import CellRuns, ReportedRun
from rlregress.model.quantities import (
    CRITIC,
    RETURNS,
    TRAINING,
    Quantity,
    get_quantity_of_verdict_name,
)
from rlregress.report import words


def describe_distribution(
    cell: str, verdict: Mapping[str, Any], runs: CellRuns | None
) -> list[str]:
    """Describe the distribution of runs behind a verdict, and later runs; empty for a group.

    Args:
        cell: under which it is judged.
        runs: of its cell; None: not known.
    """
    if "stored_mean" not in verdict:
        return []
    quantity = get_quantity_of_verdict_name(cell)
    text = "; ".join(
        [
            *_describe_ranges(quantity, verdict, runs),
            *_describe_interquartile_means(quantity, verdict),
        ]
    )
    later = _describe_runs_after_deciding_look(cell, verdict, runs)
    return ([f"descriptive: {text}"] if text else []) + ([later] if later else [])


def _describe_runs_after_deciding_look(
    cell: str, verdict: Mapping[str, Any], runs: CellRuns | None
) -> str:
    """Describe the runs after the deciding look and the mean with them; empty without any."""
    if runs is None or "stored_mean" not in verdict or len(runs.new) <= verdict["new_seeds"]:
        return ""
    count_text = words.format_count(len(runs.new) - verdict["new_seeds"], "later run")
    text = f"not judged here: {count_text}, trained for other verdicts on this cell"
    quantity, before = get_quantity_of_verdict_name(cell), verdict["stored_mean"]
    finite = _list_finite_numbers(quantity, runs.new)
    if len(finite) < len(runs.new) or before is None or not verdict["scale"]:
        return text
    mean = sum(finite) / len(finite)
    if quantity is CRITIC:
        return f"{text}; of all {len(finite)} the error is x{math.exp(before - mean):.2f}"
    share = words.format_signed_percent((mean - before) / verdict["scale"])
    return f"{text}; the mean of all {len(finite)} is {words.format_return(mean)} ({share})"


def _describe_ranges(
    quantity: Quantity, verdict: Mapping[str, Any], runs: CellRuns | None
) -> list[str]:
    if runs is None or quantity not in (RETURNS, TRAINING):
        return []
    groups = {"stored": runs.stored, "new": runs.new[: verdict["new_seeds"]]}
    return [", ".join(_describe_range(quantity, origin, pick) for origin, pick in groups.items())]


def _describe_range(quantity: Quantity, origin: str, runs: Sequence[ReportedRun]) -> str:
    values = _list_finite_numbers(quantity, runs)
    failed = len(runs) - len(values)
    why = "failed, each counts as the worst return of the environment"
    loss = f" ({failed} {why if quantity is RETURNS else 'without one'})" if failed else ""
    if not values:
        return f"no {origin} run with a return{loss}"
    return (
        f"{origin} runs between {words.format_return(min(values))} and "
        f"{words.format_return(max(values))}{loss}"
    )


def _describe_interquartile_means(quantity: Quantity, verdict: Mapping[str, Any]) -> list[str]:
    if quantity is not RETURNS or verdict.get("improvement") is None:
        return []
    return [
        f"interquartile mean {words.format_return(verdict['stored_middle'])} -> "
        f"{words.format_return(verdict['new_middle'])}",
        f"a new run is better than a stored one in {verdict['improvement']:.0%} of all pairs",
    ]


def _list_finite_numbers(quantity: Quantity, runs: Sequence[ReportedRun]) -> list[float]:
    numbers = (run.numbers.get(quantity.name) for run in runs)
    return [value for value in numbers if value is not None and math.isfinite(value)]

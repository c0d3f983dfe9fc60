"""A pilot study in words: what each cell shows for its minutes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rlregress.model.pilot_prices import MEASURES, Price
from rlregress.reporting import tables

#: CPU minutes of new runs that a lab spends on one implementation
BUDGET_MINUTES = 30.0


def lines(cell: str, prices: Sequence[Price]) -> list[str]:
    """A Markdown table of one cell: each measure where it is best, with a column for each fault."""
    faults = list(prices[0].faults) if prices else []
    heads = ["judged by", "steps", "CPU minutes a run", "unchanged", "drop of 20 %", *faults]
    made = [f"## {cell}", "", *tables.head(*heads)]
    best: dict[str, Price] = {}
    for price in prices:
        best.setdefault(price.measure, price)
    for price in best.values():
        mean, deviation = price.unchanged
        made.append(
            tables.row(
                price.measure,
                price.steps,
                f"{price.minutes:.2f}",
                f"{mean:.4g} +- {deviation:.2g}",
                _minutes(price.drop),
                *(_until_detected(price, fault) for fault in faults),
            )
        )
    if faults:
        cheapest = {fault: min(price.faults[fault] for price in best.values()) for fault in faults}
        detected = sum(minutes <= BUDGET_MINUTES for minutes in cheapest.values())
        made += [
            "",
            f"{detected} of {len(faults)} faults are `regressed` by one of them within "
            f"{BUDGET_MINUTES:.0f} CPU minutes.",
        ]
    return [*made, ""]


def legend() -> list[str]:
    """What the columns mean."""
    return [
        "CPU minutes of new runs until a change is detected with 80 % power, beside 20 stored "
        "runs, at",
        "the level of the first of ten hypotheses; -: not seen; in brackets: seen as a gain, which",
        "passes as `improved`. Each measure is read after as many steps as show the losses for the",
        "fewest minutes; without faults, a drop of 20 % (of a critic: an error 1.2 times that).",
        *(f"- {name}: {meaning}" for name, meaning in MEASURES.items()),
    ]


def _until_detected(price: Price, fault: str) -> str:
    if math.isfinite(price.gains[fault]):
        return f"({_minutes(price.gains[fault])})"
    return _minutes(price.faults[fault])


def _minutes(minutes: float) -> str:
    return f"{minutes:.1f}" if math.isfinite(minutes) else "-"

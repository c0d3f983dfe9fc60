"""A pilot study: what to judge a run by, chosen by what it shows for a minute of training.

Runs of the unchanged framework and of copies with known faults are summed up in several ways
(``MEASURES``), each read at several lengths of the training. A measure is worth as much as the
minutes after which it tells a fault from the unchanged framework: the difference of the means in
standard deviations of one run gives the number of new runs with which the permutation test sees it
with 80 % power (``power.detectable_drop``), and these times the minutes of one run are the price.
Nothing here is a verdict; the price tells what to train for one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlregress.model.quantities import CRITIC, RETURNS, Quantity
from rlregress.reporting import tables
from rlregress.verdicts.looks import fixed
from rlregress.verdicts.power import detectable_drop
from rlregress.verdicts.rules import Rules

#: measure -> what it is, in the words of a table.
MEASURES = {
    "final": "mean return of the last evaluation",
    "late": "mean of the evaluations in the last third",
    "area": "mean of all evaluations: the area under the learning curve",
    "training": "mean return of the training episodes that ended in the last third",
    "training area": "mean return of all training episodes, by steps",
    "critic": "error of the critic after the training, its logarithm",
}


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a measure costs in one cell.

    Attributes:
        steps: environment steps of a run.
        minutes: CPU minutes of a run.
        unchanged: mean and standard deviation of the number over runs of the unchanged framework.
        drop: CPU minutes until a common drop of 20 % is seen, or an error of the critic 1.2 times
            as large; inf: it is not.
        faults: fault -> CPU minutes until it is seen as a loss, which a gate calls ``regressed``.
        gains: fault -> the same as a gain, ``improved``: it passes.
    """

    measure: str
    steps: int
    minutes: float
    unchanged: tuple[float, float]
    drop: float
    faults: dict[str, float]
    gains: dict[str, float]


FloatArray = NDArray[np.float64]

#: numbers of new runs that are considered
_NUMBERS = (*range(1, 11), 12, 15, 20, 30, 40)


@dataclass(frozen=True)
class Curve:
    """What one run left behind.

    Attributes:
        evaluated: [e] environment steps of its evaluations, ascending.
        evaluations: [e] mean return of each, in the environment's reward unit.
        training_minutes: [e] CPU minutes of training up to each evaluation.
        evaluation_minutes: [e] CPU minutes of each evaluation.
        ended: [k] environment steps at which its training episodes ended, ascending.
        episodes: [k] their returns.
        critic: what its critic is judged by after the training, minus the logarithm of its error;
            nan: there is none.
    """

    evaluated: FloatArray
    evaluations: FloatArray
    training_minutes: FloatArray
    evaluation_minutes: FloatArray
    ended: FloatArray
    episodes: FloatArray
    critic: float = math.nan


def measured(curve: Curve, measure: str, last: int) -> tuple[float, float]:
    """The number that ``measure`` makes of a run that ends at evaluation ``last``, and its price.

    Args:
        last: index of the evaluation at which the training ends.

    Returns:
        (number, CPU minutes of a run that is made for this number alone); the number is NaN where
        no episode ended in time, and of the critic before the end of the run.
    """
    end = curve.evaluated[last]
    minutes = float(curve.training_minutes[last])
    if measure == "critic":
        at_end = last == len(curve.evaluated) - 1
        return (curve.critic if at_end else math.nan), minutes
    if measure.startswith("training"):
        start = end * 2 / 3 if measure == "training" else 0.0
        within = (curve.ended > start) & (curve.ended <= end)
        if not within.any():
            return math.nan, minutes
        if measure == "training":
            return float(curve.episodes[within].mean()), minutes
        lengths = np.diff(curve.ended[within], prepend=0.0)
        return float(np.average(curve.episodes[within], weights=lengths)), minutes
    start = {"final": end - 1, "late": end * 2 / 3, "area": 0.0}[measure]
    within = (curve.evaluated > start) & (curve.evaluated <= end)
    minutes += float(curve.evaluation_minutes[within].sum())
    return float(curve.evaluations[within].mean()), minutes


def runs_needed(
    unchanged: ArrayLike,
    changed: ArrayLike,
    stored: int,
    level: float,
    quantity: Quantity = RETURNS,
) -> float:
    """New runs after which a loss of the mean is seen; inf: not with 40 beside so few, or no loss.

    It has to be rejected, and to be observed beyond the floor of the rules.

    Args:
        unchanged, changed: numbers of runs [a] and [b], at least two each; larger is better.
        stored: runs of the unchanged framework that new ones are compared with.
        level: of the one-sided test.
        quantity: what the numbers are.
    """
    before = np.asarray(unchanged, dtype=np.float64)
    after = np.asarray(changed, dtype=np.float64)
    spread = math.sqrt((before.var(ddof=1) + after.var(ddof=1)) / 2)
    floor = Rules.floor * quantity.scale(before)
    return _runs(float(before.mean() - after.mean()), spread, floor, stored, level)


def runs_for_drop(
    unchanged: ArrayLike, drop: float, stored: int, level: float, quantity: Quantity = RETURNS
) -> float:
    """New runs after which a drop of the mean by the share ``drop`` of its scale is seen.

    Of a critic, after which an error 1 + ``drop`` times as large is.
    """
    before = np.asarray(unchanged, dtype=np.float64)
    scale = quantity.scale(before)
    loss = (math.log1p(drop) if quantity is CRITIC else drop) * scale
    return _runs(loss, float(before.std(ddof=1)), Rules.floor * scale, stored, level)


def _runs(loss: float, spread: float, floor: float, stored: int, level: float) -> float:
    if loss <= floor:
        return math.inf
    for runs in _NUMBERS:
        if loss >= detectable_drop(stored, fixed(runs), 1, level, spread, floor):
            return float(runs)
    return math.inf


def prices(
    unchanged: Sequence[Curve],
    faulty: Mapping[str, Sequence[Curve]],
    stored: int = 20,
    level: float = 0.005,
) -> list[Price]:
    """Every measure at every evaluation of a cell, most faults for the fewest minutes first.

    Args:
        unchanged: at least two runs, evaluated at the same steps as all of ``faulty``.
        faulty: fault -> at least two runs.
        stored: runs that a baseline would hold.
        level: of one test within its family (Holm's first step over ten hypotheses at 0.05).
    """
    table = []
    for measure in MEASURES:
        quantity = CRITIC if measure == "critic" else RETURNS
        for last in range(len(unchanged[0].evaluated)):
            numbers, minutes = _numbers(unchanged, measure, last)
            of_faults = {name: _numbers(runs, measure, last)[0] for name, runs in faulty.items()}
            if np.isnan(numbers).any() or any(
                np.isnan(evidence).any() for evidence in of_faults.values()
            ):
                continue
            table.append(
                Price(
                    measure=measure,
                    steps=int(unchanged[0].evaluated[last]),
                    minutes=minutes,
                    unchanged=(float(numbers.mean()), float(numbers.std(ddof=1))),
                    drop=minutes * runs_for_drop(numbers, 0.2, stored, level, quantity),
                    faults={
                        name: minutes * runs_needed(numbers, evidence, stored, level, quantity)
                        for name, evidence in of_faults.items()
                    },
                    gains={
                        name: minutes * runs_needed(-numbers, -evidence, stored, level, quantity)
                        for name, evidence in of_faults.items()
                    },
                )
            )
    return sorted(table, key=_rank)


def _numbers(runs: Sequence[Curve], measure: str, last: int) -> tuple[FloatArray, float]:
    pairs = [measured(run, measure, last) for run in runs]
    return np.array([number for number, _ in pairs]), float(np.median([m for _, m in pairs]))


def _rank(price: Price) -> tuple[float, float]:
    """Expected share of a budget of 30 minutes: a fault that costs more than it counts whole."""
    shares = [min(cost, BUDGET_MINUTES) for cost in price.faults.values()]
    costs = shares or [min(price.drop, BUDGET_MINUTES)]
    return float(np.mean(costs)), price.minutes


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

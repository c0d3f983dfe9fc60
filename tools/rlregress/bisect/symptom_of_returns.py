"""Returns as a symptom: both ends are trained, then what lies between, until the runs tell.

A version is called old if its runs are unlike those of the new end, and new if they are unlike
those of the old end. Each is a one-sided permutation test, which holds for every law of returns;
its error is spent over the looks. What neither or both reject is left out: nothing is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress.bisect.symptoms import Checked, Symptom, Unchecked, Value
from rlregress.errors import UserError, nearest
from rlregress.gate import baseline_runs, gate_run
from rlregress.gate_options import GateOptions
from rlregress.training.cell import Cell
from rlregress.upgrade.confirmation import numbers_of
from rlregress.upgrade.side_environments import Prepared
from rlregress.verdicts.permutation import generator_from_contents, permutation_p_value

#: runs of either end, and the probability of telling two equal ends apart.
END_RUNS, END_ERROR = 12, 0.01
#: runs of a version after which it is looked at, and the probability there of a wrong answer.
LOOKS = ((4, 0.001), (8, 0.0015), (12, 0.0025))
#: first seeds of the ends and of what lies between: no run is compared with itself.
_SEEDS = (1000, 1500)
AS_OLD, AS_NEW = "as the old version", "as the new version"


def error(checks: int) -> float:
    """The probability, at most, of a wrong answer after so many versions between the ends."""
    return END_ERROR + checks * sum(share for _, share in LOOKS)


def p_value(worse: Sequence[float], better: Sequence[float]) -> float:
    """Return the one-sided permutation p-value of some runs being as good as others."""
    return float(permutation_p_value(better, worse, generator_from_contents(better, worse)).drop)


def ends_differ(old: Sequence[float], new: Sequence[float]) -> bool:
    """Return whether the returns of both ends differ significantly."""
    return min(p_value(old, new), p_value(new, old)) <= END_ERROR / 2


def like(
    old: Sequence[float], new: Sequence[float], draw: Callable[[int], Sequence[float]]
) -> str | None:
    """Return the end that a version resembles; None if the runs do not decide.

    Args:
        old, new: returns of the ends, which differ.
        draw: the first n returns of the version.
    """
    falls = sum(old) / len(old) > sum(new) / len(new)
    for runs, share in LOOKS:
        drawn_runs = draw(runs)
        unlike_old = p_value(drawn_runs, old) if falls else p_value(old, drawn_runs)
        unlike_new = p_value(new, drawn_runs) if falls else p_value(drawn_runs, new)
        if min(unlike_old, unlike_new) <= share < max(unlike_old, unlike_new):
            return AS_NEW if unlike_old < unlike_new else AS_OLD
    return None


def returns(cell_id: str) -> Symptom:
    """The returns of a cell that has stored runs, such as sb3-ppo-Pendulum-v1-short.

    Raises:
        UserError: there is no such cell.
    """
    cells = {baseline.cell.id: baseline.cell for baseline in baseline_runs.load_all_baselines()}
    if cell_id not in cells:
        raise UserError(
            f"--returns is '{cell_id}', which is no stored cell; {nearest(cell_id, cells)}"
        )
    cell = cells[cell_id]

    def numbers(checked: Checked, first: int, count: int) -> list[float]:
        all_numbers: list[float] = []
        begin = 0
        for end in [runs for runs, _ in LOOKS if runs <= count]:
            name = f"returns {cell_id} {first + begin} {end - begin}"
            all_numbers += checked.measure_once(name, _trained(cell, first + begin, end - begin))
            begin = end
        return all_numbers

    def value(checked: Checked, old: Checked, new: Checked) -> Value:
        before, after = (numbers(end, _SEEDS[0], END_RUNS) for end in (old, new))
        if checked is old:
            return {"": AS_OLD}
        if checked is new:
            return {"": AS_NEW if ends_differ(before, after) else AS_OLD}
        all_numbers = like(before, after, lambda count: numbers(checked, _SEEDS[1], count))
        if all_numbers is None:
            raise Unchecked(f"{LOOKS[-1][0]} runs do not tell which end its returns are like")
        return {"": all_numbers}

    return Symptom(f"returns of {cell_id}", value, error=error)


def _trained(cell: Cell, first: int, count: int) -> Callable[[Prepared], Any]:
    def measured(prepared: Prepared) -> list[float]:
        side = prepared.side
        with TemporaryDirectory(prefix="rlregress-bisect-") as folder:
            options = GateOptions(
                report=Path(folder),
                budget=cell.budget,
                frameworks=cell.framework,
                cells=cell.id,
                seeds=count,
                first_seed=first,
                store=str(Path(folder) / "runs"),
            )
            entries = gate_run.run_returns_only(side.python, options, side.environment())
        if isinstance(entries, str):
            raise Unchecked(entries)
        numbers = numbers_of(entries, cell.id)
        if len(numbers) < count or not all(map(math.isfinite, numbers)):
            missing_count = count - sum(map(math.isfinite, numbers))
            raise Unchecked(
                f"{missing_count} of {count} trainings of {cell.id} ended without a return"
            )
        return numbers

    return measured

"""How fast trainings are beside their floor, and what is said of it: a table and verdict lines."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rlregress.reporting import tables, words

#: of the table of throughput
COLUMNS = (
    "training", "processes", "ratio to the floor", "steps per CPU s (floor)",
    "gradient steps per CPU s (floor)", "steps per CPU s without updates (floor)",
    "CPU ms per gradient step (floor)", "peak MiB (imports alone)",
)  # fmt: skip

#: what the framework did, and what the floor did
_Pair = tuple[float, float] | None


def _pairs(process: Mapping[str, Any]) -> list[_Pair]:
    """The cells of a row behind the ratio, of one process; None where they cannot be told.

    What a gradient step costs is what a step costs while the algorithm learns, less what one costs
    without updates, over the gradient steps of a step.
    """
    ratio, steps = process["ratio"], process["steps_per_second"]
    updates = process["updates_per_second"]
    learning = (steps, steps / ratio)
    without: _Pair = None
    gradient_step: _Pair = None
    if process["collecting_ratio"] is not None:
        collecting = process["collecting_steps_per_second"]
        without = (collecting, collecting / process["collecting_ratio"])
        costs = [1000 * (1 / a - 1 / b) for a, b in zip(learning, without, strict=True)]
        gradient_step = (costs[0] * steps / updates, costs[1] * steps / updates)
    memory = (process["peak_mib"], process["idle_mib"])
    return [learning, (updates, updates / ratio), without, gradient_step, memory]


def _rounded(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _row(name: str, processes: Sequence[Mapping[str, Any]]) -> list[str]:
    ratios = [process["ratio"] for process in processes]
    spread = f" ± {statistics.stdev(ratios):.3f}" if len(ratios) > 1 else ""
    cells = [name, str(len(processes)), f"{statistics.mean(ratios):.3f}{spread}"]
    for pairs in zip(*map(_pairs, processes), strict=True):
        values = [pair for pair in pairs if pair is not None]
        means = [statistics.mean(side) for side in zip(*values, strict=True)]
        cells.append("{} ({})".format(*map(_rounded, means)) if means else "-")
    return cells


def table(measured: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    """A Markdown table, one row for each (framework, algorithm) with ``processes``.

    Rates are means over processes; after ± the standard deviation of the ratio.
    """
    cells = rows(measured)
    return [*tables.head(*COLUMNS), *(tables.row(*row) for row in cells)] if cells else []


def rows(measured: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[list[str]]:
    """The cells of that table."""
    return [
        _row(" ".join(pair), numbers["processes"])
        for pair, numbers in measured.items()
        if numbers.get("processes")
    ]


def verdict_line(name: str, verdict: Mapping[str, Any]) -> str:
    """The verdict on one quantity: change, interval, processes, error rate, what could be seen."""
    between = ""
    if verdict["interval"]:
        low, high = map(words.percent, verdict["interval"])
        between = f", 95 % interval {low} to {high}"
    detectable = verdict["visible"]
    detectable_change = (
        "no change" if detectable is None else f"a change of {detectable:.0%} with 80 % power"
    )
    return (
        f"{verdict['verdict']:<12} {name}: {words.number(verdict['stored_mean'])} -> "
        f"{words.number(verdict['new_mean'])} ({words.percent(verdict['change'])}{between}); "
        f"{verdict['stored_processes']} stored and {verdict['new_processes']} new processes; "
        f"adjusted p {words.number(verdict['adjusted_worse'])}; would detect {detectable_change}: "
        f"{verdict['reason']}"
    )


_MEANT = {
    "training": "ratio to the floor while it learns",
    "collecting": "ratio to the floor without updates",
    "peak memory": "peak memory in MiB",
}


def lines(measured: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    """The table and the verdicts of a session; nothing if it measured nothing.

    Args:
        measured: (framework, algorithm) -> ``processes`` (measurements) and ``verdicts`` (by
            quantity), as plain data; either may be absent.
    """
    text = table(measured)
    if verdicts := verdict_lines(measured):
        text += ["", *verdicts]
    return ["", *text] if text else []


def verdict_lines(measured: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    """The verdicts, and the error rate that holds for them together; nothing if there are none."""
    verdicts = {
        f"{' '.join(pair)}, {_MEANT[quantity]}": verdict
        for pair, numbers in measured.items()
        for quantity, verdict in numbers.get("verdicts", {}).items()
    }
    if not verdicts:
        return []
    alpha = next(iter(verdicts.values()))["alpha"]
    return [
        *(f"- {verdict_line(name, verdict)}" for name, verdict in verdicts.items()),
        f"- If nothing changed, some line above says 'regressed' in at most {words.rate(alpha)} of "
        "such sessions.",
    ]

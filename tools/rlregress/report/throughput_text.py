"""The throughput of trainings relative to their floor: a table and verdict lines."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rlregress.report import tables, words
from rlregress.report.html.page import Table

_COLUMNS = (
    "training", "processes", "ratio to the floor", "steps per CPU s", "gradient steps per CPU s",
    "peak MiB (imports alone)",
)  # fmt: skip
_MEANING = {"training": "ratio to the floor while it learns", "peak memory": "peak memory in MiB"}


def _round_throughput(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _make_row_of_processes(name: str, processes: Sequence[Mapping[str, Any]]) -> list[str]:
    ratios = [process["ratio"] for process in processes]
    spread = f" ± {statistics.stdev(ratios):.3f}" if len(ratios) > 1 else ""
    steps, updates, peak, idle = (
        _round_throughput(statistics.mean(process[name] for process in processes))
        for name in ("steps_per_second", "updates_per_second", "peak_mib", "idle_mib")
    )
    ratio = f"{statistics.mean(ratios):.3f}{spread}"
    return [name, str(len(processes)), ratio, steps, updates, f"{peak} ({idle})"]


def make_throughput_table(measurements: Mapping[tuple[str, str], Mapping[str, Any]]) -> Table:
    """Return a table with the throughput of each (framework, algorithm) that was measured.

    Rates are means over processes; after ± the standard deviation of the ratio.
    """
    rows = [
        _make_row_of_processes(" ".join(pair), numbers["processes"])
        for pair, numbers in measurements.items()
        if numbers.get("processes")
    ]
    return Table(_COLUMNS, rows, len(_COLUMNS) - 1)


def format_throughput_verdict(name: str, verdict: Mapping[str, Any]) -> str:
    """Return one verdict: change, interval, processes, error rate, what would be detected."""
    between = ""
    if verdict["interval"]:
        low, high = map(words.format_signed_percent, verdict["interval"])
        between = f", 95 % interval {low} to {high}"
    detectable = verdict["visible"]
    detectable_change = (
        "no change" if detectable is None else f"a change of {detectable:.0%} with 80 % power"
    )
    return (
        f"{verdict['verdict']:<12} {name}: {words.format_return(verdict['stored_mean'])} -> "
        f"{words.format_return(verdict['new_mean'])} "
        f"({words.format_signed_percent(verdict['change'])}{between}); "
        f"{verdict['stored_processes']} stored and {verdict['new_processes']} new processes; "
        f"adjusted p {words.format_return(verdict['adjusted_worse'])}; would detect "
        f"{detectable_change}: "
        f"{verdict['reason']}"
    )


def format_throughput_lines(measurements: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    """Return the table and the verdicts of a session; nothing if it measured nothing.

    Args:
        measurements: (framework, algorithm) -> ``processes`` (measurements) and ``verdicts`` (by
            quantity), as plain data; either may be absent.
    """
    own = make_throughput_table(measurements)
    text = (
        tables.align_columns([own.head, *(list(map(str, row)) for row in own.rows)]) if own else []
    )
    if verdicts := format_throughput_verdicts(measurements):
        text += ["", *(f"- {line}" for line in verdicts)]
    return ["", *text] if text else []


def format_throughput_verdicts(
    measurements: Mapping[tuple[str, str], Mapping[str, Any]],
) -> list[str]:
    """Return the verdicts, and the error rate that holds for them together."""
    verdicts = {
        f"{' '.join(pair)}, {_MEANING[quantity]}": verdict
        for pair, numbers in measurements.items()
        for quantity, verdict in numbers.get("verdicts", {}).items()
    }
    if not verdicts:
        return []
    alpha = next(iter(verdicts.values()))["alpha"]
    return [
        *(format_throughput_verdict(name, verdict) for name, verdict in verdicts.items()),
        "If nothing changed, some line above says 'regressed' in at most "
        f"{words.format_error_rate(alpha)} of "
        "such sessions.",
    ]

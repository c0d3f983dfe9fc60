"""``rlregress trend``: what changed over many nights, printed and written."""

from __future__ import annotations

import gc
import json
from collections.abc import Sequence
from pathlib import Path

import typer

from rlregress.gate import evidence
from rlregress.gate import trend as trends
from rlregress.reporting import trend as trend_report
from rlregress.training.record import check_writable, write_atomically


def trend(given: Sequence[Path], since: str, alpha: float, report: Path) -> int:
    """Judge the nights below these folders; the exit code."""
    # a thousand nights are a million small objects without a cycle: there is nothing to collect
    gc.disable()
    try:
        nights, left_out = trends.read(given, since)
        judged = trends.judge(nights, left_out, alpha)
    finally:
        gc.enable()
    check_writable(report, "the report")
    text = "\n".join(trend_report.lines(judged)) + "\n"
    write_atomically(report / "trend.md", text)
    data = json.dumps(evidence.plain(trend_report.as_json(judged)), separators=(",", ":"))
    write_atomically(report / "trend.json", data + "\n")
    typer.echo(text)
    typer.echo(f"report: {report} (trend.md, trend.json)")
    typer.echo(f"verdict: {judged.verdict}")
    return judged.exit_code

"""``rlregress gate`` and ``rlregress plan``: judge the installed frameworks, print and write it."""

from __future__ import annotations

import json
import os

import typer

from rlregress.gate import evidence, planning, run, selection
from rlregress.reporting import gate as gate_report
from rlregress.reporting import plan as plan_report
from rlregress.reporting import summary
from rlregress.training.record import write_atomically


def judge(options: run.GateOptions) -> int:
    """Judge the installed frameworks; writes the report, prints the summary; the exit code."""
    result = run.judge(options, typer.echo)
    text = summary.markdown(result)
    write_atomically(options.report / "summary.md", text)
    data = json.dumps(evidence.plain(gate_report.as_json(result)), indent=1)
    write_atomically(options.report / "verdict.json", data + "\n")
    typer.echo("\n" + text)
    typer.echo(f"report: {options.report} (summary.md, verdict.json, evidence.json, junit.xml)")
    for line in gate_report.verdict_lines(result):
        typer.echo(line)
    return result.exit_code


def plan(
    chosen: selection.Selection,
    seeds: int,
    workers: int,
    store: str,
    one_look: bool,
    must_see: float | None,
) -> None:
    """Print what a session would do."""
    planned = planning.plan(chosen, seeds, store, one_look, must_see)
    for line in plan_report.lines(planned, workers or os.cpu_count() or 1):
        typer.echo(line)

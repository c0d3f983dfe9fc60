"""``rlregress trend``: what changed over many nightly reports, printed and written."""

from __future__ import annotations

import gc
import json
import shlex
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from rlregress import evidence
from rlregress.cli import output
from rlregress.cli.options import Inconclusive, Report, check_inconclusive, gate_code
from rlregress.errors import UserError
from rlregress.files import absolute
from rlregress.gate import report_data
from rlregress.inside.run_record import check_writable, write_atomically
from rlregress.reporting import harmless, short_summary
from rlregress.reporting.html.page import Facts
from rlregress.studies.trend import nightly_trend, trend_report


def trend(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...",
            help="Reports of checks, or folders that hold many of them, at any depth.",
        ),
    ],
    since: Annotated[
        str, typer.Option(metavar="DATE", help="Leave earlier nights out, as in 2026-01-31.")
    ] = "",
    alpha: Annotated[
        float, typer.Option(help="Probability of a false alarm on the whole page.")
    ] = 0.05,
    inconclusive: Inconclusive = "code",
    report: Report = "report",
) -> None:
    """Example:

    rlregress trend nightlies/ --since 2026-01-31

    Reads the reports of many checks, and prints what changed, since when, and with which versions.
    Trains nothing. Writes trend.html, trend.md and trend.json. Exit code 0: nothing is worse than
    it was; 1: something dropped and did not recover; 2: nothing can be judged; 3: the data cannot
    tell.
    """
    check_inconclusive(inconclusive)
    try:
        since = since and date.fromisoformat(since).isoformat()
    except ValueError:
        raise UserError(f"--since is '{since}', expected a date as in 2026-01-31") from None
    folder = absolute(report)
    code = judge(folders, since, alpha, folder)
    raise typer.Exit(gate_code(code, inconclusive))


def judge(given: Sequence[Path], since: str, alpha: float, report: Path) -> int:
    """Judge the nights below these folders; the exit code."""
    started, begun = time.monotonic(), report_data.now()
    # a thousand nights are a million small objects without a cycle: there is nothing to collect
    gc.disable()
    try:
        nights, left_out = nightly_trend.read(given, since)
        judged = nightly_trend.judge(nights, left_out, alpha)
    finally:
        gc.enable()
    check_writable(report, "the report")
    output.decided()
    text = "\n".join(trend_report.lines(judged)) + "\n"
    write_atomically(report / "trend.md", harmless.markdown(text))
    data = json.dumps(evidence.plain(trend_report.as_json(judged)), separators=(",", ":"))
    write_atomically(report / "trend.json", data + "\n")
    # what was found is read while the page is drawn
    typer.echo(text)
    command = ["rlregress", "trend", *map(str, given)] + ["--since", since] * bool(since)
    seconds = round(time.monotonic() - started, 1)
    facts = Facts(
        trend_report.title(judged), begun, seconds, report_data.machine(), shlex.join(command)
    )
    write_atomically(report / "trend.html", trend_report.page(judged, facts))
    typer.echo(f"report: {report} (trend.html, trend.md, trend.json)")
    output.next_steps(short_summary.steps([trend_report.card(judged)]))
    typer.echo(f"verdict: {judged.verdict}")
    return judged.exit_code

"""``rlregress trend``: what changed over many nights, printed and written."""

from __future__ import annotations

import gc
import json
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

import typer

from rlregress.commands import following, output
from rlregress.gate import evidence, shown
from rlregress.gate import trend as trends
from rlregress.reporting import brief, harmless
from rlregress.reporting import trend as trend_report
from rlregress.reporting.html import trend as trend_page
from rlregress.reporting.html.page import Facts
from rlregress.training.record import check_writable, write_atomically


def trend(given: Sequence[Path], since: str, alpha: float, report: Path) -> int:
    """Judge the nights below these folders; the exit code."""
    started, date = time.monotonic(), shown.now()
    # a thousand nights are a million small objects without a cycle: there is nothing to collect
    gc.disable()
    try:
        nights, left_out = trends.read(given, since)
        judged = trends.judge(nights, left_out, alpha)
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
    facts = Facts(trend_page.title(judged), date, seconds, shown.machine(), shlex.join(command))
    write_atomically(report / "trend.html", trend_page.page(judged, facts))
    typer.echo(f"report: {report} (trend.html, trend.md, trend.json)")
    following.say(brief.steps([trend_page.card(judged)]))
    typer.echo(f"verdict: {judged.verdict}")
    return judged.exit_code

"""``rlregress trend``: what changed over many nightly reports, printed and written."""

from __future__ import annotations

import json
import shlex
import time
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from rlregress import evidence
from rlregress.check import nightly_trend, report_data
from rlregress.cli import output
from rlregress.cli.options import (
    Inconclusive,
    Report,
    check_inconclusive_option,
    replace_inconclusive_exit_code,
)
from rlregress.errors import UserError
from rlregress.files import resolve_real_path
from rlregress.inside.run_record import check_folder_is_writable, write_text_atomically
from rlregress.report import harmless, markdown_page, short_summary, trend_text
from rlregress.report.html import trend_page
from rlregress.report.html.page import PageInfo


def trend(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...",
            help="Report folders of checks, or folders above them, at any depth.",
        ),
    ],
    since: Annotated[
        str, typer.Option(metavar="DATE", help="First date to include, as in 2026-01-31.")
    ] = "",
    inconclusive: Inconclusive = "code",
    report: Report = "report",
) -> None:
    """Example:

    rlregress trend nightlies/ --since 2026-01-31

    Reads the reports of many checks, and prints what regressed, since when, and which versions
    changed there. Trains nothing. Writes trend.html, trend.md and trend.json. Exit code 0: the last
    checks found nothing worse; 1: something regressed and did not recover; 2: there is nothing to
    read; 3: the last checks could not tell.
    """
    check_inconclusive_option(inconclusive)
    try:
        since = since and date.fromisoformat(since).isoformat()
    except ValueError:
        raise UserError(f"--since is '{since}', expected a date as in 2026-01-31") from None
    started, stamp, folder = (
        time.monotonic(),
        report_data.format_time_with_offset(),
        resolve_real_path(report),
    )
    summary = nightly_trend.summarize_nightly_runs(*nightly_trend.read_nightly_runs(folders, since))
    check_folder_is_writable(folder, "the report")
    output.mark_exit_code_decided()
    data = json.dumps(
        evidence.convert_to_plain_data(trend_text.convert_trend_to_plain_data(summary)),
        separators=(",", ":"),
    )
    write_text_atomically(folder / "trend.json", data + "\n")
    command = ["rlregress", "trend", *map(str, folders)] + ["--since", since] * bool(since)
    seconds, title = round(time.monotonic() - started, 1), trend_text.format_trend_title(summary)
    facts = PageInfo(title, stamp, seconds, report_data.describe_machine(), shlex.join(command))
    page = trend_page.make_page_of_trend(summary, facts)
    text = markdown_page.format_page_as_markdown(page)
    typer.echo(text)
    write_text_atomically(folder / "trend.md", harmless.escape_markdown(text))
    write_text_atomically(folder / "trend.html", page.render_html())
    typer.echo(f"report: {folder} (trend.html, trend.md, trend.json)")
    output.print_next_steps(
        short_summary.format_first_steps([trend_page.make_card_of_trend(summary)])
    )
    typer.echo(f"verdict: {summary.verdict}")
    raise typer.Exit(replace_inconclusive_exit_code(summary.exit_code, inconclusive))

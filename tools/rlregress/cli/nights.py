"""``rlregress trend`` and ``export``: many nights, and formats that people plot with."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from rlregress.cli.options import Inconclusive, check_inconclusive, gate_code
from rlregress.errors import UserError
from rlregress.files import absolute


def trend(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...",
            help="Reports of gates, or folders that hold many of them, at any depth.",
        ),
    ],
    since: Annotated[
        str, typer.Option(metavar="DATE", help="Leave earlier nights out, as in 2026-01-31.")
    ] = "",
    alpha: Annotated[
        float, typer.Option(help="Probability of a false alarm on the whole page.")
    ] = 0.05,
    inconclusive: Inconclusive = "code",
    report: Annotated[str, typer.Option(metavar="PATH", help="Folder of the report.")] = "report",
) -> None:
    """Read the reports of many gates, and print what changed, since when, and with which versions.

    Trains nothing. Writes trend.html, trend.md and trend.json. Exit code 0: nothing is worse than
    it was; 1: something dropped and did not recover; 2: nothing can be judged; 3: the data cannot
    tell.
    """
    from rlregress.commands import trend as trend_command

    check_inconclusive(inconclusive)
    try:
        since = since and date.fromisoformat(since).isoformat()
    except ValueError:
        raise UserError(f"--since is '{since}', expected a date as in 2026-01-31") from None
    folder = absolute(report)
    code = trend_command.trend(folders, since, alpha, folder)
    raise typer.Exit(gate_code(code, inconclusive))


def export(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...", help="Stores of run records, and reports of gates (as for trend)."
        ),
    ],
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="PATH", help="Folder of the CSV files.")
    ] = None,
    tensorboard: Annotated[
        str | None,
        typer.Option("--tensorboard", metavar="PATH", help="Folder of TensorBoard's event files."),
    ] = None,
) -> None:
    """Write run records and verdicts as CSV files, as TensorBoard scalars, or both.

    Exit code 0, also where some record is damaged, which is said; 2: nothing can be exported.
    """
    from rlregress.commands import export as export_command

    if csv is None and tensorboard is None:
        raise UserError("nothing is asked for; give --csv PATH, --tensorboard PATH, or both")
    export_command.export(
        folders,
        None if csv is None else absolute(csv),
        None if tensorboard is None else absolute(tensorboard),
    )

"""``rlregress study export``: records and verdicts as CSV and as TensorBoard scalars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rlregress.cli import output
from rlregress.errors import UserError
from rlregress.files import absolute
from rlregress.inside.run_record import check_writable, write_atomically
from rlregress.reporting import next_steps
from rlregress.studies import exported_scalars


def export(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...", help="Stores of run records, and reports of checks (as for trend)."
        ),
    ],
    tables: Annotated[
        str | None, typer.Option("--csv", metavar="PATH", help="Folder of the CSV files.")
    ] = None,
    tensorboard: Annotated[
        str | None,
        typer.Option("--tensorboard", metavar="PATH", help="Folder of TensorBoard's event files."),
    ] = None,
) -> None:
    """Example:

    rlregress study export runs/ --csv tables/

    Writes run records and verdicts as CSV files, as TensorBoard scalars, or both. Exit code 0, also
    where some record is damaged, which is said; 2: nothing can be exported.
    """
    if tables is None and tensorboard is None:
        raise UserError("nothing is wanted; give --csv PATH, --tensorboard PATH, or both")
    write(
        folders,
        None if tables is None else absolute(tables),
        None if tensorboard is None else absolute(tensorboard),
    )


def write(given: Sequence[Path], tables: Path | None, events: Path | None) -> None:
    """Write what these folders hold, and say what was written."""
    if events is not None:
        exported_scalars.tensorboard_writer()
    for folder, what in ((tables, "tables"), (events, "TensorBoard events")):
        if folder is not None:
            check_writable(folder, what)
    made = exported_scalars.of(given)
    for sentence in made.left_out:
        typer.echo(sentence)
    if tables is not None:
        for name, rows in made.tables.items():
            if rows:
                write_atomically(tables / f"{name}.csv", exported_scalars.as_csv(rows))
                typer.echo(f"{tables / name}.csv: {len(rows)} rows")
    if events is not None:
        runs = exported_scalars.write_events(made.scalars, events)
        typer.echo(f"{events}: {len(made.scalars)} scalars of {runs} runs")
    output.next_steps([next_steps.after_export(tables, events)])

"""``rlregress study export``: records and verdicts as CSV and as TensorBoard scalars."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rlregress import datafiles, files
from rlregress.cli import output
from rlregress.errors import UserError
from rlregress.files import absolute
from rlregress.gate import exported_scalars
from rlregress.inside.run_record import check_writable, write_atomically
from rlregress.reporting import harmless, next_steps

#: how TensorBoard's files begin
_EVENTS = "events.out.tfevents"
#: how formulas of spreadsheets begin
_FORMULAS = ("=", "+", "-", "@")


def export(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...", help="Stores of run records, and reports of gates (as for trend)."
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
        _writer()
    for folder, what in ((tables, "tables"), (events, "TensorBoard events")):
        if folder is not None:
            check_writable(folder, what)
    made = exported_scalars.of(given)
    for sentence in made.left_out:
        typer.echo(sentence)
    if tables is not None:
        for name, rows in made.tables.items():
            if rows:
                write_atomically(tables / f"{name}.csv", as_csv(rows))
                typer.echo(f"{tables / name}.csv: {len(rows)} rows")
    if events is not None:
        runs = write_events(made.scalars, events)
        typer.echo(f"{events}: {len(made.scalars)} scalars of {runs} runs")
    output.next_steps([next_steps.after_export(tables, events)])


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """A CSV file; empty where a row has no such column, or its number is not defined."""
    cells = [{_cell(name): _cell(value) for name, value in row.items()} for row in rows]
    columns = list(dict.fromkeys(name for row in cells for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A number that is defined, or text in one line that no spreadsheet takes for a formula."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not isinstance(value, str):
        return value
    text = harmless.line(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _writer() -> Any:
    """TensorBoard's writer; UserError where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError(
            "--tensorboard needs the package 'tensorboard', which is not installed; install it "
            "with: pip install 'rlregress[tensorboard]'"
        ) from None
    return SummaryWriter


def write_events(scalars: Sequence[exported_scalars.Scalar], folder: Path) -> int:
    """Write event files, a folder for each run, below ``folder``; how many runs there are.

    An export is written once: what an earlier one left there under the same name is removed, as
    TensorBoard would show both.
    """
    writer = _writer()
    by_run: dict[str, list[exported_scalars.Scalar]] = {}
    for scalar in scalars:
        by_run.setdefault(scalar.run, []).append(scalar)
    for run, points in by_run.items():
        # of what is in it, so that it is no link to a folder elsewhere
        place = files.inside(folder, *run.split("/"), _EVENTS).parent
        for old in datafiles.listed(place, f"{_EVENTS}.*"):
            files.remove(folder, old)
        with writer(log_dir=str(place)) as events:
            for of in points:
                events.add_scalar(of.tag, of.value, of.step, walltime=of.time or None)
    return len(by_run)

"""``rlregress pilot``: what a run is judged by, chosen by what it shows for its minutes."""

from __future__ import annotations

import os

import typer

from rlregress import suite
from rlregress.commands import following
from rlregress.errors import UserError
from rlregress.files import absolute
from rlregress.gate import pilot as study
from rlregress.gate.selection import Selection
from rlregress.reporting import next_steps
from rlregress.reporting import pilot as report


def run(selection: Selection | None, seeds: int, workers: int, store: str) -> None:
    """Train what is missing of the study and print its table; without a selection print alone.

    Raises:
        UserError: nothing has been trained.
    """
    folder = absolute(store or suite.workplace() / "runs" / "pilot")
    if selection is not None:
        study.train(selection, seeds, folder, workers or os.cpu_count() or 1, typer.echo)
    if not (folder / study.UNCHANGED).is_dir():
        raise UserError(
            f"there are no runs of a pilot study in {folder}; train some: rlregress pilot "
            "--framework NAME --environment ID"
        )
    for line in report.legend():
        typer.echo(line)
    for cell, prices in study.study(folder):
        typer.echo()
        for line in report.lines(cell, prices):
            typer.echo(line)
    following.say([next_steps.after_pilot()])

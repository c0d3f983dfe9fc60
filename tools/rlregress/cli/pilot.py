"""``rlregress study pilot``: what a run is judged by, chosen by what it shows for its minutes."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from rlregress import suite
from rlregress.cli import output
from rlregress.cli.options import Algorithms, Environments, Frameworks, Store, Workers
from rlregress.details.requested_names import names
from rlregress.errors import UserError
from rlregress.files import absolute
from rlregress.gate.cell_selection import Selection
from rlregress.reporting import next_steps
from rlregress.studies.pilot import pilot_costs, pilot_trainings


def pilot(
    framework: Frameworks = None,
    algorithm: Algorithms = None,
    environment: Environments = None,
    seeds: Annotated[
        int,
        typer.Option(
            min=2, metavar="N", help="Runs of each cell, with and without each fault; 10."
        ),
    ] = 10,
    workers: Workers = 0,
    store: Store = "",
) -> None:
    """Example:

    rlregress study pilot --framework sb3 --environment Pendulum-v1

    Measures what to judge runs by: trains with and without known faults, and prints what shows
    them. With --environment it trains what is missing, resumable; without, it prints what is there.
    Exit code 0, or 2 if nothing has been trained.
    """
    chosen = None
    if environment is not None:
        chosen = Selection(
            pilot_trainings.BUDGET,
            names("--framework", framework),
            names("--algorithm", algorithm),
            names("--environment", environment),
        )
    run(chosen, seeds, workers, store)


def run(selection: Selection | None, seeds: int, workers: int, store: str) -> None:
    """Train what is missing of the study and print its table; without a selection print alone.

    Raises:
        UserError: nothing has been trained.
    """
    folder = absolute(store or suite.workplace() / "runs" / "pilot")
    if selection is not None:
        pilot_trainings.train(selection, seeds, folder, workers or os.cpu_count() or 1, typer.echo)
    if not (folder / pilot_trainings.UNCHANGED).is_dir():
        raise UserError(
            f"there are no runs of a pilot study in {folder}; train some: rlregress study pilot "
            "--framework NAME --environment ID"
        )
    for line in pilot_costs.legend():
        typer.echo(line)
    for cell, prices in pilot_trainings.study(folder):
        typer.echo()
        for line in pilot_costs.lines(cell, prices):
            typer.echo(line)
    output.next_steps([next_steps.after_pilot()])

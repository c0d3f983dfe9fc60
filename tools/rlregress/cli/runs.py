"""``rlregress record``, ``pilot`` and ``throughput``: what is measured and stored."""

from __future__ import annotations

from typing import Annotated

import typer

from rlregress.cli.options import (
    Algorithms,
    BudgetName,
    Environments,
    Frameworks,
    Hyperparameters,
    StoreFolder,
    Workers,
    names_of,
)
from rlregress.errors import UserError


def pilot(
    framework: Frameworks = None,
    algorithm: Algorithms = None,
    environment: Environments = None,
    seeds: Annotated[
        int, typer.Option(min=2, help="Runs of each cell, unchanged and with each fault.")
    ] = 10,
    workers: Workers = 0,
    store: StoreFolder = "",
) -> None:
    """Measure what to judge runs by: train with and without known faults; print what shows them.

    With --environment it trains what is missing, resumable; without, it prints what is there.
    Exit code 0, or 2 if nothing has been trained.
    """
    from rlregress.commands import pilot as pilot_command
    from rlregress.gate import pilot as study
    from rlregress.gate import selection

    chosen = None
    if environment is not None:
        chosen = selection.Selection(
            study.BUDGET,
            names_of("--framework", framework),
            names_of("--algorithm", algorithm),
            names_of("--environment", environment),
        )
    pilot_command.run(chosen, seeds, workers, store)


def record(
    framework: Annotated[str, typer.Option(help="Names, comma-separated.")],
    algorithm: Annotated[str, typer.Option(help="Names, comma-separated.")],
    environment: Annotated[str, typer.Option(help="Gymnasium ids, comma-separated.")],
    budget: BudgetName = "short",
    hyperparameters: Hyperparameters = "",
    seeds: Annotated[int, typer.Option(help="Stored runs per cell, from seed 0.")] = 10,
    workers: Workers = 0,
    store: StoreFolder = "",
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Do all of them again, in place of those that are stored."),
    ] = False,
) -> None:
    """Train cells and write their returns to baselines/returns.

    One that was interrupted goes on from there, and stored runs of the same code are kept: more
    seeds add to them. Exit code 0, or 2 if a cell cannot be recorded.
    """
    from rlregress.commands import gate as gate_command
    from rlregress.gate.recording import Recording

    recording = Recording(
        names_of("--framework", framework),
        names_of("--algorithm", algorithm),
        names_of("--environment", environment),
        budget,
        hyperparameters,
        seeds,
        store,
        replace,
    )
    gate_command.record(recording, workers)


def throughput(
    framework: Frameworks = None,
    algorithm: Algorithms = None,
    record: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="PROCESSES",
            help="Measure until so many processes of each algorithm are stored.",
        ),
    ] = 0,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Overwrite what was stored of other code, once all new processes are measured.",
        ),
    ] = False,
) -> None:
    """Print how fast trainings are, as stored in baselines/throughput; --record measures it.

    A recording that was interrupted goes on from there; one that replaces begins again. Exit code
    0, or 2 if nothing is stored, or something cannot be recorded. New processes are measured and
    judged by pytest tests_performance/test_throughput.py, and by rlregress gate --throughput.
    """
    from rlregress.commands import gate as gate_command

    if replace and not record:
        raise UserError("--replace overwrites what --record measures; give both, or neither")
    gate_command.throughput(
        names_of("--framework", framework), names_of("--algorithm", algorithm), record, replace
    )

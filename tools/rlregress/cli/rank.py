"""``rlregress rank`` and ``study``: compare implementations by their runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlregress.cli.options import BudgetName, as_typed, names_of, refuse
from rlregress.files import absolute


def rank(
    context: typer.Context,
    csv: Annotated[
        Path | None,
        typer.Argument(
            help="Runs with the columns implementation,environment,seed,return; default: "
            "baselines/returns."
        ),
    ] = None,
    framework: Annotated[
        str | None, typer.Option(help="Of stored runs: names, comma-separated; default: all.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Of stored runs: names, comma-separated; default: all.")
    ] = None,
    environment: Annotated[
        str | None, typer.Option(help="Gymnasium ids, comma-separated; default: all.")
    ] = None,
    budget: BudgetName = "short",
    store: Annotated[
        str, typer.Option("--store", help="Folder of run records; default: baselines/returns.")
    ] = "",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each implementation at each look.")] = 5,
    looks: Annotated[
        int, typer.Option(min=0, help="Looks planned in all; 0: as many as there are runs for.")
    ] = 0,
    alpha: Annotated[
        float, typer.Option(help="Probability of separating equals, over all pairs.")
    ] = 0.05,
    beta: Annotated[
        float, typer.Option(help="Probability of accepting a pair early; 0: never.")
    ] = 0.0,
    report: Annotated[str, typer.Option(metavar="PATH", help="Folder of the report.")] = "report",
) -> None:
    """Rank implementations by their runs, with AdaStop: which pairs differ, look by look.

    Trains nothing. Writes rank.html, rank.json and rank.svg. Exit code 0: every pair is
    separated, or is not after the last planned look; 3: some pair needs more runs; 2: nothing can
    be compared.
    """
    from rlregress.commands import rank as rank_command

    environments = names_of("--environment", environment)
    options = rank_command.Options(runs, looks or None, alpha, beta, absolute(report), as_typed())
    if csv is not None:
        of_stored = ("framework", "algorithm", "budget", "store")
        refuse(context, of_stored, "a CSV file does not take", "leave it out")
        raise typer.Exit(rank_command.of_csv(csv, environments, options))
    kept = rank_command.Kept(
        names_of("--framework", framework), names_of("--algorithm", algorithm), budget
    )
    raise typer.Exit(rank_command.of_stored(store, kept, environments, options))


def study(
    report: Annotated[str, typer.Option(metavar="PATH", help="Folder of the report.")] = "report",
) -> None:
    """Answer the thesis' three questions from its published tables and from stored runs.

    Do implementations reach the papers, do frameworks agree, is the ranking of algorithms the same
    in each, do stored runs return what the thesis printed? Trains nothing, writes study.json.
    Exit code 0, or 2 if data cannot be read.
    """
    from rlregress.commands import rank as rank_command

    rank_command.study(absolute(report))

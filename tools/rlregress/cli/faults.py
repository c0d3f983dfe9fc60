"""``rlregress faults``: known mistakes, seeded into copies."""

from __future__ import annotations

from typing import Annotated

import typer

from rlregress.cli.options import Algorithms, Frameworks, Html, Workers, as_typed, names_of
from rlregress.errors import UserError


def faults(
    framework: Frameworks = None,
    only: Annotated[
        str | None, typer.Option(help="Names of faults, comma-separated; default: all.")
    ] = None,
    workers: Workers = 0,
    traced: Annotated[
        bool, typer.Option("--traced", help="Find them by traces of short trainings instead.")
    ] = False,
    optional: Annotated[
        bool,
        typer.Option("--optional", help="Those in code that runs only under an option, by traces."),
    ] = False,
    behavior: Annotated[
        bool,
        typer.Option("--behavior", help="Those between several environments, by tests_behavior."),
    ] = False,
    returns: Annotated[
        bool, typer.Option("--returns", help="Those that change what is learnt, by trainings.")
    ] = False,
    throughput: Annotated[
        bool,
        typer.Option("--throughput", help="Those that cost time or memory, by measuring both."),
    ] = False,
    algorithm: Algorithms = None,
    unchanged: Annotated[
        int,
        typer.Option(
            min=0, metavar="GATES", help="With --returns: judge so often without any fault."
        ),
    ] = 0,
    cells: Annotated[
        str, typer.Option(help="With --returns: default, all, or patterns of ids of stored cells.")
    ] = "all",
    tiers: Annotated[
        bool,
        typer.Option("--tiers", help="Those that operators generate, drawn by lot, by every tier."),
    ] = False,
    count: Annotated[
        int, typer.Option(min=1, help="With --tiers: how many of each framework.")
    ] = 150,
    draw: Annotated[int, typer.Option(min=0, help="With --tiers: seed of the lot.")] = 0,
    show: Annotated[
        bool, typer.Option("--show", help="With --tiers: print what is kept; judge nothing.")
    ] = False,
    missed: Annotated[
        bool,
        typer.Option(
            "--missed", help="With --tiers: ask again what no tier saw in the kept draws."
        ),
    ] = False,
    html: Html = "",
) -> None:
    """Make known mistakes in copies of the frameworks, and print whether the probes see each.

    Exit code 0, or 1 if a fault is not seen, or changes another detail than it should; with
    --traced, if less than nine in ten are found in the right file and function; with --optional, if
    less than nine in ten are found; with --behavior, if one does not turn its tests red; with
    --throughput, if one is not seen; with --returns, if one is not said to have regressed, or with
    --unchanged if one gate says so; with --tiers, if less than 95 in a hundred are seen. 2: a name
    is unknown.
    """
    from rlregress.commands import faults as faults_command
    from rlregress.commands import pages
    from rlregress.gate import selection

    # of several copies of a framework, the one that its name alone means
    chosen = selection.adapters(names_of("--framework", framework))
    adapters = list(dict.fromkeys(adapter.name for adapter in chosen))
    catalogues = {
        "--traced": (traced, faults_command.by_traces),
        "--optional": (optional, faults_command.under_options),
        "--behavior": (behavior, faults_command.by_behavior),
        "--throughput": (throughput, faults_command.by_throughput),
    }
    named = [option for option, (given, _) in catalogues.items() if given]
    named += ["--returns"] * returns + ["--tiers"] * tiers
    if not returns and (algorithm is not None or unchanged or cells != "all"):
        raise UserError(
            "--algorithm, --cells and --unchanged go with --returns; give it, or leave them out"
        )
    if len(named) > 1:
        raise UserError(f"{' and '.join(named)} are catalogues of faults; name one of them")
    if not tiers and (count != 150 or draw or show or missed):
        raise UserError(
            "--count, --draw, --show and --missed go with --tiers; give it, or leave them out"
        )
    if missed and (count != 150 or draw or show):
        raise UserError("--missed is about all kept draws; leave out --count, --draw and --show")
    if tiers:
        if only or html:
            raise UserError(
                "--tiers draws its faults and prints Markdown; leave out --only, --html"
            )
        if show:
            seen = faults_command.kept_tiers()
        elif missed:
            seen = faults_command.missed_by_tiers(adapters, workers)
        else:
            seen = faults_command.by_tiers(adapters, count, draw, workers)
        raise typer.Exit(0 if seen else 1)
    new_page = pages.begin(html, as_typed())
    if returns:
        algorithms = names_of("--algorithm", algorithm)
        of = names_of("--only", only)
        seen = faults_command.by_returns(
            adapters, algorithms, of, unchanged, workers, cells, new_page
        )
        raise typer.Exit(0 if seen else 1)
    seed = catalogues[named[0]][1] if named else faults_command.by_probes
    raise typer.Exit(0 if seed(adapters, names_of("--only", only), workers, new_page) else 1)

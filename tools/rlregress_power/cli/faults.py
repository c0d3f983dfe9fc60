"""``rlregress selftest faults``: inject known faults, and print which are detected."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from rlregress import frameworks, progress
from rlregress.catalogue import requested_names
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.cli import html_option, output, waiting
from rlregress.cli.html_option import RequestedPage
from rlregress.cli.options import Algorithms, Frameworks, Html, Workers, get_typed_command
from rlregress.errors import UserError
from rlregress.faults import fault_tables
from rlregress.model.fault_results import (
    BEHAVIOR,
    DETAILS,
    OPTIONS,
    REPLAYS,
    RETURNS,
    THROUGHPUT,
    TRACES,
    Fault,
    FaultResult,
)
from rlregress.progress import show_progress
from rlregress_power import (
    faults_page,
    faults_text,
    generated_faults,
    power_page,
    replay_power,
    tier_power,
)
from rlregress_power.instruments import INSTRUMENTS

_TIERS = "tiers"


def run_instrument(
    name: str, faults: Sequence[Fault], workers: int, page: RequestedPage, **further: Any
) -> bool:
    """Inject faults, run the instrument and print; return whether enough are detected.

    Args:
        further: cells and gates, which only the instrument of returns takes.
    """
    instrument = INSTRUMENTS[name]
    say = typer.echo if name == OPTIONS else waiting.print_to_error_output
    results: list[FaultResult] = []
    with show_progress(say) as print_line:
        if instrument.counted:
            progress.begin_stage(instrument.counted, len(faults))
        for result in instrument.run(faults, workers, print_line, **further):
            results.append(result)
            typer.echo("\n".join(faults_text.describe_result_of_instrument(name, result)))
            if instrument.counted:
                progress.count_done_parts()
    summary = faults_text.summarise_results(name, results)
    typer.echo(summary)
    rows = [faults_page.make_row_of_fault(name, result) for result in results]
    page.write_and_print_path(
        faults_page.TITLE, lambda facts: faults_page.make_faults_page(rows, summary, facts)
    )
    unexpected = [row.name for row in rows if not row.right]
    output.print_next_steps([suggest_after_faults(unexpected)])
    return instrument.detects_enough(results)


def _run_tiers(names: Sequence[str], count: int, draw: int, workers: int, missed: bool) -> bool:
    """Run the tiers on drawn faults, or on undetected ones; return whether enough are detected."""
    adapters = map(frameworks.get_adapter, names)
    with show_progress(typer.echo) as say:
        if missed:
            draws = (
                tier_power.repeat_undetected_faults(adapter, workers, say) for adapter in adapters
            )
            results = [
                adapter_draw for framework_draws in draws for adapter_draw in framework_draws
            ]
        else:
            results = [
                tier_power.draw_faults_and_run_tiers(adapter, count, draw, workers, say)
                for adapter in adapters
            ]
    typer.echo(power_page.make_power_page(results, generated_faults.load_explanations()))
    typer.echo(power_page.summarise_power(results))
    return tier_power.detects_enough(results)


def _print_stored_tier_results(names: Sequence[str]) -> bool:
    """Print the page of stored results; return whether enough are detected."""
    results = [
        recorded
        for recorded in generated_faults.load_results_of_all_draws()
        if not names or recorded.framework in names
    ]
    if not results:
        named = f" of {', '.join(names)}" if names else ""
        raise UserError(
            f"no generated faults{named} were judged yet; run rlregress selftest faults --tiers "
            "without --show"
        )
    typer.echo(power_page.make_power_page(results, generated_faults.load_explanations()), nl=False)
    return tier_power.detects_enough(results)


def faults(
    framework: Frameworks = None,
    only: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Names of faults; default: all.")
    ] = None,
    workers: Workers = 0,
    traced: Annotated[bool, typer.Option("--traced", help="Detect faults by traces.")] = False,
    optional: Annotated[
        bool, typer.Option("--optional", help="Detect faults under options, by traces.")
    ] = False,
    behavior: Annotated[
        bool, typer.Option("--behavior", help="Detect faults of vectorisation, by tests.")
    ] = False,
    returns: Annotated[
        bool, typer.Option("--returns", help="Detect faults of learning, by judged returns.")
    ] = False,
    replays: Annotated[
        bool, typer.Option("--replays", help="Detect faults of learning, by one replay each.")
    ] = False,
    throughput: Annotated[
        bool, typer.Option("--throughput", help="Detect faults of speed or memory, by measuring.")
    ] = False,
    algorithm: Algorithms = None,
    unchanged: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="GATES",
            show_default=False,
            help="Gates without a fault, with --returns; default: 0.",
        ),
    ] = 0,
    cells: Annotated[
        str, typer.Option(metavar="CELLS", show_default=False, help="Cells for --returns; all.")
    ] = "all",
    tiers: Annotated[
        bool, typer.Option("--tiers", help="Detect mutants drawn at random, by every tier.")
    ] = False,
    count: Annotated[
        int, typer.Option(min=1, metavar="N", help="Mutants to draw, with --tiers or --replays.")
    ] = 150,
    draw: Annotated[
        int, typer.Option(min=0, metavar="SEED", help="Seed of the draw of --tiers and --replays.")
    ] = 0,
    show: Annotated[bool, typer.Option("--show", help="Print stored results of --tiers.")] = False,
    missed: Annotated[
        bool, typer.Option("--missed", help="Repeat undetected mutants, with --tiers.")
    ] = False,
    html: Html = "",
) -> None:
    """Example:

    rlregress selftest faults --framework sb3 --traced

    Injects known faults into copies of the frameworks, and prints whether the probes detect each.
    Exit code 0: enough are detected (all; of --traced and --optional nine in ten; of --tiers 95 %),
    and of --unchanged no gate reports a regression; 1: not so; 2: a name is unknown.
    """
    # faults are injected into the copy with the plain name
    selected = requested_names.select_adapters(
        split_comma_separated_names("--framework", framework)
    )
    adapters = list(dict.fromkeys(adapter.name for adapter in selected))
    requested_instruments = {
        TRACES: traced, OPTIONS: optional, BEHAVIOR: behavior, THROUGHPUT: throughput,
        RETURNS: returns, REPLAYS: replays, _TIERS: tiers,
    }  # fmt: skip
    instruments = [name for name, is_requested in requested_instruments.items() if is_requested]
    if not (returns or replays) and algorithm is not None:
        raise UserError("--algorithm goes with --returns and --replays; give one, or leave it out")
    if not returns and (unchanged or cells != "all"):
        raise UserError("--cells and --unchanged go with --returns; give it, or leave them out")
    if len(instruments) > 1:
        named = " and ".join(f"--{name}" for name in instruments)
        raise UserError(f"{named} name different tables of faults; give one of them")
    if not (tiers or replays) and (count != 150 or draw):
        raise UserError(
            "--count and --draw go with --tiers and --replays; give one, or leave them out"
        )
    if not tiers and (show or missed):
        raise UserError("--show and --missed go with --tiers; give it, or leave them out")
    if show and (count != 150 or draw):
        raise UserError("--show prints all stored draws; leave out --count and --draw")
    if missed and (count != 150 or draw or show):
        raise UserError("--missed uses all stored draws; leave out --count, --draw and --show")
    processes = workers or os.cpu_count() or 1
    if tiers:
        if only or html:
            raise UserError(
                "--tiers draws its faults and prints Markdown; leave out --only, --html"
            )
        enough = (
            _print_stored_tier_results(split_comma_separated_names("--framework", framework))
            if show
            else _run_tiers(adapters, count, draw, processes, missed)
        )
        raise typer.Exit(0 if enough else 1)
    page = html_option.prepare_requested_page(html, get_typed_command())
    if throughput and workers > 1:
        raise UserError(
            f"--workers is {workers}, expected 1 with --throughput, because parallel processes "
            "slow each other down; leave it out"
        )
    instrument = instruments[0] if instruments else DETAILS
    algorithms = split_comma_separated_names("--algorithm", algorithm) if returns or replays else ()
    if replays and draw:
        algorithms_by_framework = {
            name: algorithms or frameworks.get_adapter(name).framework.algorithms
            for name in adapters
        }
        pairs = [
            (name, algorithm) for name, own in algorithms_by_framework.items() for algorithm in own
        ]
        injected = [
            f
            for pair in pairs
            for f in replay_power.draw_faults_of_replayed_files(*pair, count, draw)
        ]
    else:
        table = RETURNS if replays else instrument
        injected = fault_tables.select_faults(
            table, adapters, split_comma_separated_names("--only", only), algorithms
        )
    further = {"cells": cells, "gates": unchanged} if returns else {}
    enough = run_instrument(instrument, injected, processes, page, **further)
    raise typer.Exit(0 if enough else 1)


def suggest_after_faults(unexpected: Sequence[str]) -> str:
    """Suggest the next step after injecting faults."""
    if unexpected:
        return f"Read the result of {unexpected[0]}, and docs/power.md"
    return "Nothing: all is as expected."

"""``rlregress selftest faults``: seed known faults and print what probes, tests or traces say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, TypeVar

import typer

from rlregress import frameworks
from rlregress.cli import html_option, output, waiting
from rlregress.cli.html_option import Page
from rlregress.cli.options import Algorithms, Frameworks, Html, Workers, as_typed
from rlregress.details import requested_names
from rlregress.details.requested_names import names
from rlregress.errors import UserError
from rlregress.faults import (
    behavior_faults,
    generated_faults,
    probed_faults,
    seeding,
    traced_faults,
)
from rlregress.gate import return_faults, throughput_faults
from rlregress.model.fault_results import (
    GateOnFault,
    ProbedResult,
    ThroughputResult,
)
from rlregress.reporting import faults_text, next_steps, power_page
from rlregress.reporting.html import faults_page
from rlregress.upgrade import optional_faults, tier_power

T = TypeVar("T")


def _write(page: Page, rows: Sequence[faults_page.Row], summary: str) -> None:
    page.write(faults_page.TITLE, lambda facts: faults_page.page(rows, summary, facts))
    output.next_steps([next_steps.after_faults([row.name for row in rows if not row.right])])


def _printed(results: Iterable[T], line: Callable[[T], str], total: int, what: str) -> list[T]:
    """All results, each printed when it is there, with how many of ``total`` that are."""
    progress = waiting.progress(total, what)
    kept = []
    for result in results:
        typer.echo(line(result))
        kept.append(result)
        progress.done()
    return kept


def by_probes(of: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Seed, probe and print, fault by fault; whether all of them were seen as expected."""
    pairs = probed_faults.chosen(of, only)
    results: list[ProbedResult] = []
    for name in of:
        faults = [fault for owner, fault in pairs if owner == name]
        if not faults:
            continue
        typer.echo(f"{name}: {len(faults)} faults; first, which probe reaches which line", err=True)
        made = seeding.seed(name, faults, workers or os.cpu_count() or 1)
        line = partial(faults_text.probed_line, name)
        results += _printed(made, line, len(faults), "faults asked of probes")
    summary = faults_text.probed_summary(results)
    typer.echo(summary)
    _write(page, [faults_page.probed(outcome) for outcome in results], summary)
    return all(outcome.detected for outcome in results)


def by_traces(of: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Seed, trace and print, fault by fault; whether enough were found in the right place."""
    faults = traced_faults.chosen(of, only)
    made = traced_faults.seed(faults, workers or os.cpu_count() or 1)
    results = _printed(made, faults_text.traced_line, len(faults), "faults traced")
    summary = faults_text.traced_summary(results)
    typer.echo(summary)
    _write(page, [faults_page.traced(outcome) for outcome in results], summary)
    return traced_faults.enough(results)


def by_behavior(of: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Seed, run the behaviour tests and print, fault by fault; whether all of them turned red."""
    faults = behavior_faults.chosen(of, only)
    made = behavior_faults.seed(faults, workers or os.cpu_count() or 1)
    what = "faults asked of behaviour tests"
    results = _printed(made, faults_text.behavior_line, len(faults), what)
    summary = faults_text.behavior_summary(results)
    typer.echo(summary)
    _write(page, [faults_page.behavior(outcome) for outcome in results], summary)
    return all(outcome.detected for outcome in results)


def under_options(of: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Seed faults that show only under an option, and print what the scenarios say of each."""
    chosen = optional_faults.chosen(of, only)
    results = optional_faults.seed(chosen, workers or os.cpu_count() or 1, typer.echo)
    lines = faults_text.optional_lines(results)
    for line in lines:
        typer.echo(line)
    rows = zip(results, lines, strict=False)
    _write(page, [faults_page.optional(each, line) for each, line in rows], lines[-1])
    return optional_faults.enough(results)


def by_returns(
    of: Sequence[str],
    algorithms: Sequence[str],
    only: Sequence[str],
    gates: int,
    workers: int,
    cells: str,
    page: Page,
) -> bool:
    """Judge the returns of copies with faults, or ``gates`` times of what is installed.

    Returns whether every fault, or no unchanged framework, is said to have regressed.
    """
    processes = workers or os.cpu_count() or 1
    faults = return_faults.chosen(of, algorithms, only)
    judged: list[GateOnFault] = []
    if gates:
        pairs = dict.fromkeys((fault.framework, fault.algorithm) for fault in faults)
        sessions = [return_faults.unchanged(*pair, gates, processes, cells) for pair in pairs]
    else:
        sessions = [return_faults.seed(faults, processes, cells)]
    for session in sessions:
        for result in session:
            judged.append(result)
            for line in faults_text.returns_lines(result):
                typer.echo(line)
    summary = faults_text.returns_summary(judged)
    typer.echo(summary)
    rows = [faults_page.returns(outcome, outcome.regressed != bool(gates)) for outcome in judged]
    _write(page, rows, summary)
    return all(outcome.regressed != bool(gates) and not outcome.trouble for outcome in judged)


def by_throughput(of: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Measure copies with faults, judge and print; whether all of them were seen."""
    if workers > 1:
        raise UserError(
            f"--workers is {workers}, expected 1 with --throughput: what is measured beside itself "
            "is slower; leave it out"
        )
    judged: list[ThroughputResult] = []
    for result in throughput_faults.seed(throughput_faults.chosen(of, only)):
        judged.append(result)
        for line in faults_text.throughput_lines(result):
            typer.echo(line)
    summary = faults_text.throughput_summary(judged)
    typer.echo(summary)
    _write(page, [faults_page.throughput(outcome) for outcome in judged], summary)
    return all(outcome.detected for outcome in judged)


def by_tiers(of: Sequence[str], count: int, draw: int, workers: int) -> bool:
    """Draw faults, ask the tiers, and print which sees how many; whether they see enough."""
    results = [
        tier_power.judge(
            frameworks.get(name), count, draw, workers or os.cpu_count() or 1, typer.echo
        )
        for name in of
    ]
    typer.echo(power_page.page(results, generated_faults.explained()))
    typer.echo(power_page.summary(results))
    return tier_power.enough(results)


def missed_by_tiers(of: Sequence[str], workers: int) -> bool:
    """Ask again what no tier saw, and print the page; whether the tiers see enough now."""
    processes = workers or os.cpu_count() or 1
    draws_of = (tier_power.probe_again(frameworks.get(name), processes, typer.echo) for name in of)
    results = [drawn for draws in draws_of for drawn in draws]
    typer.echo(power_page.page(results, generated_faults.explained()))
    typer.echo(power_page.summary(results))
    return tier_power.enough(results)


def kept_tiers() -> bool:
    """Print the page of what was judged before; whether the tiers see enough."""
    results = generated_faults.kept()
    if not results:
        raise UserError(
            "no generated faults were judged yet; run rlregress selftest faults --tiers without "
            "--show"
        )
    typer.echo(power_page.page(results, generated_faults.explained()), nl=False)
    return tier_power.enough(results)


def faults(
    framework: Frameworks = None,
    only: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Of faults; default: all.")
    ] = None,
    workers: Workers = 0,
    traced: Annotated[bool, typer.Option("--traced", help="By traces of short trainings.")] = False,
    optional: Annotated[
        bool,
        typer.Option("--optional", help="Those under an option, by traces."),
    ] = False,
    behavior: Annotated[
        bool,
        typer.Option("--behavior", help="Those of several environments, by tests."),
    ] = False,
    returns: Annotated[
        bool, typer.Option("--returns", help="Those of learning, by trainings.")
    ] = False,
    throughput: Annotated[
        bool,
        typer.Option("--throughput", help="Those of time or memory, by measuring."),
    ] = False,
    algorithm: Algorithms = None,
    unchanged: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="GATES",
            show_default=False,
            help="Of --returns: judge so often without a fault.",
        ),
    ] = 0,
    cells: Annotated[
        str, typer.Option(metavar="CELLS", show_default=False, help="Of --returns; all.")
    ] = "all",
    tiers: Annotated[
        bool,
        typer.Option("--tiers", help="Mutants drawn by lot, by every tier."),
    ] = False,
    count: Annotated[int, typer.Option(min=1, metavar="N", help="Of --tiers: how many.")] = 150,
    draw: Annotated[int, typer.Option(min=0, metavar="SEED", help="Of --tiers: of the lot.")] = 0,
    show: Annotated[bool, typer.Option("--show", help="Of --tiers: print what is kept.")] = False,
    missed: Annotated[
        bool,
        typer.Option("--missed", help="Of --tiers: again what no tier detected."),
    ] = False,
    html: Html = "",
) -> None:
    """Example:

    rlregress selftest faults --framework sb3 --traced

    Injects known faults into copies of the frameworks, and prints whether the probes detect each.
    Exit code 0: enough are detected (all; of --traced and --optional nine in ten; of --tiers 95 %),
    and of --unchanged no gate reports a regression; 1: not so; 2: a name is unknown.
    """
    # of several copies of a framework, the one that its name alone means
    chosen = requested_names.adapters(names("--framework", framework))
    adapters = list(dict.fromkeys(adapter.name for adapter in chosen))
    catalogues = {
        "--traced": (traced, by_traces),
        "--optional": (optional, under_options),
        "--behavior": (behavior, by_behavior),
        "--throughput": (throughput, by_throughput),
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
            kept = kept_tiers()
        elif missed:
            kept = missed_by_tiers(adapters, workers)
        else:
            kept = by_tiers(adapters, count, draw, workers)
        raise typer.Exit(0 if kept else 1)
    new_page = html_option.begin(html, as_typed())
    if returns:
        algorithms = names("--algorithm", algorithm)
        of = names("--only", only)
        kept = by_returns(adapters, algorithms, of, unchanged, workers, cells, new_page)
        raise typer.Exit(0 if kept else 1)
    seed = catalogues[named[0]][1] if named else by_probes
    raise typer.Exit(0 if seed(adapters, names("--only", only), workers, new_page) else 1)

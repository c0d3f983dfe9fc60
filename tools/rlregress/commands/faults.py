"""``rlregress faults``: seed known faults and print what probes, tests or traces say."""

from __future__ import annotations

import os
from collections.abc import Sequence

import typer

from rlregress import frameworks
from rlregress.commands import following, waiting
from rlregress.commands.pages import Page
from rlregress.errors import UserError
from rlregress.faults import behavior, generated, probed, seeding, traced
from rlregress.gate import return_faults, throughput_faults
from rlregress.model.faults import (
    BehaviorResult,
    GateOnFault,
    ProbedResult,
    ThroughputResult,
    TracedResult,
)
from rlregress.reporting import faults as faults_report
from rlregress.reporting import next_steps
from rlregress.reporting import tiers as tiers_report
from rlregress.reporting.html import faults as faults_page
from rlregress.upgrade import optional_faults, tiers


def _write(page: Page, rows: Sequence[faults_page.Row], said: str) -> None:
    page.write(faults_page.TITLE, lambda facts: faults_page.page(rows, said, facts))
    following.say([next_steps.after_faults([row.name for row in rows if not row.right])])


def by_probes(names: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Seed, probe and print, fault by fault; whether all of them were seen as expected."""
    pairs = probed.chosen(names, only)
    seen: list[ProbedResult] = []
    for name in names:
        faults = [fault for of, fault in pairs if of == name]
        if not faults:
            continue
        typer.echo(f"{name}: {len(faults)} faults; first, which probe reaches which line", err=True)
        progress = waiting.progress(len(faults), "faults asked of probes")
        for each in seeding.seed(name, faults, workers or os.cpu_count() or 1):
            typer.echo(faults_report.probed_line(name, each))
            seen.append(each)
            progress.done()
    said = faults_report.probed_summary(seen)
    typer.echo(said)
    _write(page, [faults_page.probed(each) for each in seen], said)
    return all(each.detected for each in seen)


def by_traces(names: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Seed, trace and print, fault by fault; whether enough were found in the right place."""
    results: list[TracedResult] = []
    faults = traced.chosen(names, only)
    progress = waiting.progress(len(faults), "faults traced")
    for result in traced.seed(faults, workers or os.cpu_count() or 1):
        typer.echo(faults_report.traced_line(result))
        results.append(result)
        progress.done()
    said = faults_report.traced_summary(results)
    typer.echo(said)
    _write(page, [faults_page.traced(each) for each in results], said)
    return traced.enough(results)


def by_behavior(names: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Seed, run the behaviour tests and print, fault by fault; whether all of them turned red."""
    results: list[BehaviorResult] = []
    faults = behavior.chosen(names, only)
    progress = waiting.progress(len(faults), "faults asked of behaviour tests")
    for result in behavior.seed(faults, workers or os.cpu_count() or 1):
        typer.echo(faults_report.behavior_line(result))
        results.append(result)
        progress.done()
    said = faults_report.behavior_summary(results)
    typer.echo(said)
    _write(page, [faults_page.behavior(each) for each in results], said)
    return all(each.detected for each in results)


def under_options(names: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Seed faults that show only under an option, and print what the scenarios say of each."""
    chosen = optional_faults.chosen(names, only)
    results = optional_faults.seed(chosen, workers or os.cpu_count() or 1, typer.echo)
    lines = faults_report.optional_lines(results)
    for line in lines:
        typer.echo(line)
    rows = zip(results, lines, strict=False)
    _write(page, [faults_page.optional(each, line) for each, line in rows], lines[-1])
    return optional_faults.enough(results)


def by_returns(
    names: Sequence[str],
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
    faults = return_faults.chosen(names, algorithms, only)
    judged: list[GateOnFault] = []
    if gates:
        pairs = dict.fromkeys((fault.framework, fault.algorithm) for fault in faults)
        sessions = [return_faults.unchanged(*pair, gates, processes, cells) for pair in pairs]
    else:
        sessions = [return_faults.seed(faults, processes, cells)]
    for session in sessions:
        for each in session:
            judged.append(each)
            for line in faults_report.returns_lines(each):
                typer.echo(line)
    said = faults_report.returns_summary(judged)
    typer.echo(said)
    rows = [faults_page.returns(each, each.regressed != bool(gates)) for each in judged]
    _write(page, rows, said)
    return all(each.regressed != bool(gates) and not each.trouble for each in judged)


def by_throughput(names: Sequence[str], only: Sequence[str], workers: int, page: Page) -> bool:
    """Measure copies with faults, judge and print; whether all of them were seen."""
    if workers > 1:
        raise UserError(
            f"--workers is {workers}, expected 1 with --throughput: what is measured beside itself "
            "is slower; leave it out"
        )
    judged: list[ThroughputResult] = []
    for each in throughput_faults.seed(throughput_faults.chosen(names, only)):
        judged.append(each)
        for line in faults_report.throughput_lines(each):
            typer.echo(line)
    said = faults_report.throughput_summary(judged)
    typer.echo(said)
    _write(page, [faults_page.throughput(each) for each in judged], said)
    return all(each.detected for each in judged)


def by_tiers(names: Sequence[str], count: int, draw: int, workers: int) -> bool:
    """Draw faults, ask the tiers, and print which sees how many; whether they see enough."""
    results = [
        tiers.judge(frameworks.get(name), count, draw, workers or os.cpu_count() or 1, typer.echo)
        for name in names
    ]
    typer.echo(tiers_report.page(results, generated.explained()))
    typer.echo(tiers_report.summary(results))
    return tiers.enough(results)


def missed_by_tiers(names: Sequence[str], workers: int) -> bool:
    """Ask again what no tier saw, and print the page; whether the tiers see enough now."""
    processes = workers or os.cpu_count() or 1
    of = (tiers.ask_again(frameworks.get(name), processes, typer.echo) for name in names)
    results = [each for draws in of for each in draws]
    typer.echo(tiers_report.page(results, generated.explained()))
    typer.echo(tiers_report.summary(results))
    return tiers.enough(results)


def kept_tiers() -> bool:
    """Print the page of what was judged before; whether the tiers see enough."""
    results = generated.kept()
    if not results:
        raise UserError(
            "no generated faults were judged yet; run rlregress faults --tiers without --show"
        )
    typer.echo(tiers_report.page(results, generated.explained()), nl=False)
    return tiers.enough(results)

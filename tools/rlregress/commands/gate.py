"""``rlregress gate``, ``plan`` and ``throughput``: judge the installed frameworks, print it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from rlregress import report_files
from rlregress.commands import following, hosts, output
from rlregress.errors import UserError, nearest
from rlregress.gate import planning, recording, run, selection
from rlregress.gate import throughput as throughputs
from rlregress.model.planning import Gate
from rlregress.reporting import brief, gate_findings, summary, terminal
from rlregress.reporting import gate as gate_report
from rlregress.reporting import plan as plan_report
from rlregress.reporting import throughput as throughput_report
from rlregress.reporting.html import gate as gate_page


def judge(options: run.GateOptions, in_brief: bool = False) -> int:
    """Judge the installed frameworks; writes the report, prints the summary; the exit code.

    Args:
        in_brief: print five lines in place of the summary.
    """
    with run.new_report(options) as new:
        result = run.judge(new, typer.echo)
        text = report_files.judged(result, run.evidence_of(new), new.report, hosts.top())
    output.decided()
    hosts.annotate(gate_findings.findings(result, hosts.top()))
    hosts.summarise(text)
    cards = gate_page.cards(result)
    if in_brief:
        page = str(options.report / "report.html")
        for line in brief.lines(gate_page.facts(result), cards, page):
            typer.echo(line)
        return result.exit_code
    typer.echo("\n" + text)
    written = [name for name in run.REPORT_FILES if (options.report / name).exists()]
    typer.echo(f"report: {options.report} ({', '.join(written)})")
    following.say(brief.steps(cards))
    for line in gate_report.verdict_lines(result):
        typer.echo(line)
    return result.exit_code


def throughput(
    frameworks: Sequence[str], algorithms: Sequence[str], processes: int, replace: bool
) -> None:
    """Measure and store, if asked, and print what is stored; UserError if nothing is.

    Args:
        frameworks, algorithms: names; none: all that are stored, or installed.
        processes: to be stored of each algorithm; 0: nothing is measured.
    """
    if processes:
        adapters = selection.adapters(frameworks)
        selection.check_algorithms(adapters, algorithms)
        for line in throughputs.record(throughputs.pairs(adapters, algorithms), processes, replace):
            typer.echo(line)
    # the table is that of all copies of a framework; one that is named has to be here
    for name in frameworks:
        if "@" in name:
            selection.adapters([name])
    every = throughputs.every()
    known = sorted({framework for framework, _ in every})
    names = {framework.partition("@")[0] for framework in frameworks}
    for given, stored in ((names, known), (algorithms, sorted({of for _, of in every}))):
        for name in given:
            if every and name not in stored:
                raise UserError(f"no throughput is stored of '{name}'; {nearest(name, stored)}")
    measured = {
        (framework, algorithm): {"processes": [asdict(process) for process in stored.process]}
        for (framework, algorithm), stored in every.items()
        if framework in (names or (framework,)) and algorithm in (algorithms or (algorithm,))
    }
    if not measured:
        asked = ", ".join([*frameworks, *algorithms]) or "any framework"
        raise UserError(
            f"no throughput is stored of {asked}; measure it with: rlregress throughput --record 10"
        )
    for line in throughput_report.lines(measured):
        typer.echo(line)
    following.say(["Judge the installed frameworks by it: rlregress gate --throughput"])


def record(asked: recording.Recording, workers: int) -> None:
    """Train what is missing and store it, with a line for every run and every file."""

    def on_done(run_record: dict[str, Any], done: int, total: int) -> None:
        # a recording takes hours: its lines are read while it goes on
        print(terminal.recorded_line(run_record, done, total), flush=True)

    for line in recording.record(asked, workers, on_done):
        typer.echo(line)


def plan(
    chosen: selection.Selection,
    seeds: int,
    workers: int,
    store: str,
    one_look: bool,
    must_see: float | None,
) -> None:
    """Print what a session would do, and the command that does it."""
    workers = workers or os.cpu_count() or 1
    planned = planning.plan(chosen, seeds, store, one_look, must_see, workers)
    for line in plan_report.lines(planned, workers):
        typer.echo(line)
    study = selection.is_study(chosen.cells)
    options = _options(chosen, run.GateOptions(Path(), store=store))
    asked = replace(options, seeds=seeds, one_look=one_look)
    name, more = ("launch", ", as docs/cluster.md shows") if study else ("gate", "")
    if not planned.wanted:
        following.say([f"{run.repeat_command(asked, name)}{more}"])
        return
    commands = {
        of.what: f"{run.repeat_command(_proposed(options, of.gate, planned.begun), name)}{more}"
        for of in planned.wanted
        if of.gate is not None
    }
    alike = set(commands.values())
    if len(alike) == 1 and len(commands) == len(planned.wanted):
        following.say(alike)
    else:
        following.say(f"{what}: {command}" for what, command in commands.items())


def _proposed(options: run.GateOptions, gate: Gate, begun: bool) -> run.GateOptions:
    """The options of a proposed gate, with fresh seeds where another one has begun."""
    first = summary.CONFIRM_SEED if begun and not gate.chosen else options.first_seed
    return replace(options, seeds=gate.seeds, first_seed=first)


def _options(chosen: selection.Selection, options: run.GateOptions) -> run.GateOptions:
    """The same of a gate on what was chosen."""
    return replace(
        options,
        budget=chosen.budget,
        frameworks=",".join(chosen.frameworks) or None,
        algorithms=",".join(chosen.algorithms) or None,
        environments=",".join(chosen.environments) or None,
        cells=chosen.cells,
        hyperparameters=chosen.hyperparameters,
    )

"""``rlregress plan``: what a check would train, cost and detect."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated

import typer

from rlregress.cli import output
from rlregress.cli.options import share_of, takes, with_budget
from rlregress.gate import planning, run, selection, tiers
from rlregress.gate.run import GateOptions
from rlregress.model.planning import Gate
from rlregress.reporting import plan as plan_report
from rlregress.reporting import summary

_TAKEN = (
    "frameworks", "algorithms", "environments", "budget", "cells", "hyperparameters", "seeds",
    "one_look", "workers", "store",
)  # fmt: skip


@takes(GateOptions, _TAKEN, budget="")
def plan(
    options: GateOptions,
    must_detect: Annotated[
        str | None,
        typer.Option(metavar="DROP", help="Such as 20%: the cheapest check that detects it."),
    ] = None,
) -> None:
    """Example:

    rlregress plan --must-detect 20%

    Prints what a check would train, its minutes on this machine, and the smallest drops that it
    would detect. Trains and writes nothing. Exit code 0, or 2 if there is nothing to train.
    """
    share = None if must_detect is None else share_of("--must-detect", must_detect)
    show(with_budget(options), share)


def show(options: GateOptions, must_detect: float | None = None) -> None:
    """Print what a session would do, and the command that does it."""
    workers = options.workers or os.cpu_count() or 1
    chosen = options.selection()
    planned = planning.plan(
        chosen, options.seeds, options.store, options.one_look, must_detect, workers
    )
    collected = run.pytest_command(options, tiers=run.TIERS[:2])
    tests = tiers.seconds_of_tests(tuple(collected))
    for line in (*plan_report.answer(planned, workers, tests), ""):
        typer.echo(line)
    for line in plan_report.lines(planned, workers):
        typer.echo(line)
    study = selection.is_study(chosen.cells)
    name, more = ("runs launch", ", as docs/cluster.md shows") if study else ("check", "")
    if not planned.wanted:
        output.next_steps([f"{run.repeat_command(options, name)}{more}"])
        return
    plain = replace(options, seeds=0, one_look=False)
    commands = {
        of.what: f"{run.repeat_command(_proposed(plain, of.gate, planned.begun), name)}{more}"
        for of in planned.wanted
        if of.gate is not None
    }
    different = set(commands.values())
    if len(different) == 1 and len(commands) == len(planned.wanted):
        output.next_steps(different)
    else:
        output.next_steps(f"{what}: {command}" for what, command in commands.items())


def _proposed(options: run.GateOptions, gate: Gate, begun: bool) -> run.GateOptions:
    """The options of a proposed gate, with fresh seeds where another one has begun."""
    first = summary.CONFIRM_SEED if begun and not gate.chosen else options.first_seed
    return replace(options, seeds=gate.seeds, first_seed=first)

"""``rlregress plan``: what a check would train, cost and detect."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated

import typer

from rlregress.check import cell_selection, check_run, session_planning, tier_progress
from rlregress.check_options import CheckOptions
from rlregress.cli import output
from rlregress.cli.options import make_command_of_function, parse_share, set_default_budget
from rlregress.model.planned_session import Gate
from rlregress.report import check_report, plan_text

_OPTIONS = (
    "frameworks", "algorithms", "environments", "budget", "cells", "hyperparameters", "seeds",
    "one_look", "fresh_seeds", "replay_seed", "workers", "store",
)  # fmt: skip


@make_command_of_function(CheckOptions, _OPTIONS, budget="")
def plan(
    options: CheckOptions,
    must_detect: Annotated[
        str | None,
        typer.Option(metavar="DROP", help="Drop to detect, as 20%: prints the cheapest check."),
    ] = None,
) -> None:
    """Example:

    rlregress plan --must-detect 20%

    Prints what a check would train, its minutes on this machine, and the smallest drops that it
    would detect. Trains and writes nothing. Exit code 0, or 2 if there is nothing to train.
    """
    share = None if must_detect is None else parse_share("--must-detect", must_detect)
    print_plan_of_session(set_default_budget(options), share)


def print_plan_of_session(options: CheckOptions, must_detect: float | None = None) -> None:
    """Print the plan of a session and the command that runs it."""
    workers = options.workers or os.cpu_count() or 1
    selection = check_run.build_cell_selection(options)
    planned = session_planning.plan_session(
        selection,
        options.seeds,
        options.store,
        options.one_look,
        must_detect,
        workers,
        check_run.choose_replay_seed(options),
    )
    collected = check_run.build_pytest_command(options, tiers=check_run.TIERS[:2])
    tests = tier_progress.estimate_seconds_of_tests(tuple(collected))
    nightly = [plan_text.NIGHTLY, ""] if planned.detects else []
    for line in (*plan_text.describe_plan_briefly(planned, workers, tests), "", *nightly):
        typer.echo(line)
    for line in plan_text.describe_plan(planned, workers):
        typer.echo(line)
    study = cell_selection.are_cells_of_study(selection.cells)
    name, hint = ("runs launch", ", as docs/running.md shows") if study else ("check", "")
    if not planned.wanted:
        output.print_next_steps([f"{check_run.build_repeat_command(options, name)}{hint}"])
        return
    plain = replace(options, seeds=0, one_look=False)
    commands = {
        request.what: check_run.build_repeat_command(
            _apply_proposed_gate(plain, request.gate, planned.begun), name
        )
        + hint
        for request in planned.wanted
        if request.gate is not None
    }
    different = set(commands.values())
    if len(different) == 1 and len(commands) == len(planned.wanted):
        output.print_next_steps(different)
    else:
        output.print_next_steps(f"{goal}: {command}" for goal, command in commands.items())


def _apply_proposed_gate(options: CheckOptions, gate: Gate, has_begun: bool) -> CheckOptions:
    """Return the options for a proposed gate, with other seeds if the session has begun."""
    # a gate that is chosen after its runs were seen would not keep its error rates
    first = check_report.CONFIRM_SEED if has_begun and not gate.chosen else options.first_seed
    return replace(options, seeds=gate.seeds, first_seed=first)

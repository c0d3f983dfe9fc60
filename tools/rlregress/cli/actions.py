"""``rlregress study actions``: how frameworks keep actions within their bounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rlregress import missing_packages
from rlregress.cli import output, waiting
from rlregress.cli.options import Report
from rlregress.details import requested_names
from rlregress.details.requested_names import names
from rlregress.errors import UserError
from rlregress.files import absolute
from rlregress.inside.run_record import check_writable, write_atomically
from rlregress.reporting import next_steps
from rlregress.studies import action_execution


def show(
    frameworks: Sequence[str], means: Sequence[float], variance: float, steps: int, folder: Path
) -> int:
    """Print and draw the executed actions of the frameworks; 0."""
    if variance <= 0.0:
        raise UserError(f"--variance is {variance:g}; expected a number above 0")
    check_writable(folder, "the report")
    adapters = requested_names.adapters(frameworks)
    who = ", ".join(adapter.full_name for adapter in adapters)
    waiting.say(f"a rollout of {steps} steps of {who}, for each of {len(means)} means")
    counted = waiting.progress(len(adapters) * len(means), "rollouts", first=1)
    found = action_execution.every(adapters, means, variance, steps, 0, counted.done)
    if not found:
        raise UserError("none of the frameworks trains PPO here; expected at least one that does")
    write_atomically(
        folder / "actions.json", json.dumps(action_execution.as_plain(found), indent=1) + "\n"
    )
    for line in action_execution.lines(found):
        typer.echo(line)
    write_atomically(folder / "actions.svg", action_execution.figure(found))
    typer.echo(f"report: {folder} (actions.json, actions.svg)")
    output.next_steps([next_steps.after_actions()])
    return 0


def _numbers(given: str) -> list[float]:
    try:
        return [float(item) for item in given.split(",")]
    except ValueError:
        raise UserError(f"--mean is '{given}'; expected numbers, comma-separated") from None


def actions(
    framework: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Default: all that are installed.")
    ] = None,
    mean: Annotated[str, typer.Option(help="Means of the Gaussian, comma-separated.")] = "0,-0.6",
    variance: Annotated[float, typer.Option(help="Its variance.")] = 0.1,
    steps: Annotated[int, typer.Option(min=2, help="Actions of each.")] = 4096,
    report: Report = "report",
) -> None:
    """Example:

    rlregress study actions --mean 0,-0.6

    Draws what reaches the environment of a Gaussian policy: the thesis' figure 14. PPO's own loop
    makes one rollout in each framework, with a policy that says the same of every observation and
    an action within -1 and 1. Writes actions.json and actions.svg. Exit code 0.
    """
    folder = absolute(report)
    missing_packages.require("matplotlib")
    chosen = names("--framework", framework)
    raise typer.Exit(show(chosen, _numbers(mean), variance, steps, folder))

"""``rlregress actions``: how frameworks keep actions within their bounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from rlregress.commands import following, waiting
from rlregress.errors import UserError
from rlregress.gate import selection
from rlregress.reporting import actions as report
from rlregress.reporting import next_steps
from rlregress.training import actions
from rlregress.training.record import check_writable, write_atomically


def show(
    frameworks: Sequence[str], means: Sequence[float], variance: float, steps: int, folder: Path
) -> int:
    """Print and draw the executed actions of the frameworks; 0."""
    if variance <= 0.0:
        raise UserError(f"--variance is {variance:g}; expected a number above 0")
    check_writable(folder, "the report")
    adapters = selection.adapters(frameworks)
    names = ", ".join(adapter.full_name for adapter in adapters)
    waiting.say(f"a rollout of {steps} steps of {names}, for each of {len(means)} means")
    counted = waiting.progress(len(adapters) * len(means), "rollouts", first=1)
    found = actions.every(adapters, means, variance, steps, 0, counted.done)
    if not found:
        raise UserError("none of the frameworks trains PPO here; expected at least one that does")
    write_atomically(folder / "actions.json", json.dumps(report.as_plain(found), indent=1) + "\n")
    for line in report.lines(found):
        typer.echo(line)
    write_atomically(folder / "actions.svg", report.figure(found))
    typer.echo(f"report: {folder} (actions.json, actions.svg)")
    following.say([next_steps.after_actions()])
    return 0

"""``rlregress actions``: how frameworks keep actions within their bounds."""

from __future__ import annotations

from typing import Annotated

import typer

from rlregress.cli.options import names_of
from rlregress.errors import UserError
from rlregress.files import absolute


def _numbers(given: str) -> list[float]:
    try:
        return [float(each) for each in given.split(",")]
    except ValueError:
        raise UserError(f"--mean is '{given}'; expected numbers, comma-separated") from None


def actions(
    framework: Annotated[
        str | None, typer.Option(help="Names, comma-separated; default: all that are installed.")
    ] = None,
    mean: Annotated[str, typer.Option(help="Means of the Gaussian, comma-separated.")] = "0,-0.6",
    variance: Annotated[float, typer.Option(help="Its variance.")] = 0.1,
    steps: Annotated[int, typer.Option(min=2, help="Actions of each.")] = 4096,
    report: Annotated[str, typer.Option(metavar="PATH", help="Folder of the report.")] = "report",
) -> None:
    """Draw what reaches the environment of a Gaussian policy: the thesis' figure 14.

    PPO's own loop makes one rollout in each framework, with a policy that says the same of every
    observation and an action within -1 and 1. Writes actions.json and actions.svg.
    Exit code 0.
    """
    from rlregress.commands import actions as command

    folder = absolute(report)
    chosen = names_of("--framework", framework)
    raise typer.Exit(command.show(chosen, _numbers(mean), variance, steps, folder))

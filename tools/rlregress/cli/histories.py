"""``rlregress histories``: every release against the one before."""

from __future__ import annotations

from typing import Annotated

import typer

from rlregress.cli.options import Workers, names_of
from rlregress.errors import UserError


def histories(
    framework: Annotated[
        str | None, typer.Option(help="Names, comma-separated; default: all that have a history.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help="Releases to judge against the one before, comma-separated; default: all that "
            "have no result."
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            help="Names of scenarios to trace alone, comma-separated; what they name is added to "
            "the results of --only."
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print what is kept; judge nothing.")
    ] = False,
    workers: Workers = 2,
) -> None:
    """Judge every pair of neighbouring releases, and count what is known to have changed.

    Takes hours; every judged pair is kept in baselines/histories, and the same command goes on
    from there. Exit code 0, or 2 if a name is unknown.
    """
    from rlregress.commands import upgrade as upgrade_command
    from rlregress.upgrade import changes

    if show and (only is not None or scenario is not None):
        raise UserError(
            "--only and --scenario say what to judge, and --show judges nothing; leave it out"
        )
    if scenario is not None and only is None:
        raise UserError(
            "--scenario adds to the results of pairs that were judged; say which with --only"
        )
    names = names_of("--framework", framework) or list(changes.known())
    if not show:
        upgrade_command.judge_histories(
            names,
            names_of("--only", only),
            names_of("--scenario", scenario),
            workers,
        )
    upgrade_command.show_histories(names)

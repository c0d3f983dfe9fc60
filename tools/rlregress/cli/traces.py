"""``rlregress trace`` and ``diff``: what a training does, event by event."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlregress.cli.options import Packages, Steps, names_of


def trace(
    context: typer.Context,
    script: Annotated[
        str | None, typer.Argument(metavar="SCRIPT", help="A training script.")
    ] = None,
    framework: Annotated[str, typer.Option(help="A built-in training of this framework.")] = "",
    algorithm: Annotated[str, typer.Option(help="Its algorithm.")] = "",
    package: Packages = None,
    steps: Steps = 0,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="PATH", help="The trace.")
    ] = "run.trace",
) -> None:
    """Record what a training does, event by event: rlregress trace SCRIPT [-- its arguments].

    Recorded twice. Exit code 0: the trace repeats itself to the bit, 3: it does not and proves
    nothing, 2: nothing could be recorded.
    """
    from rlregress.commands import traces as traces_command
    from rlregress.tracing import jobs

    path = None if script is None else Path(script)
    job = jobs.job(
        path, list(context.args), framework, algorithm, names_of("--package", package), steps
    )
    raise typer.Exit(traces_command.record(job, Path(output)))


def diff(
    a: Annotated[str, typer.Argument(metavar="A")], b: Annotated[str, typer.Argument(metavar="B")]
) -> None:
    """Compare two traces, and print where they differ first.

    Exit code 0: equal to the bit or up to rounding, 1: diverged, 2: a trace cannot be read.
    """
    from rlregress.commands import traces as traces_command

    raise typer.Exit(traces_command.diff(Path(a), Path(b)))

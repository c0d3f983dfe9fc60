"""``rlregress trace`` and ``rlregress diff``: record traces, and compare them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rlregress import files
from rlregress.cli import output
from rlregress.cli.options import Packages, Steps
from rlregress.cli.parsing import script_arguments
from rlregress.details.requested_names import names
from rlregress.errors import UserError
from rlregress.inside.run_record import check_file
from rlregress.model import explain
from rlregress.model.recorded_traces import Trace
from rlregress.reporting import next_steps, traces_text
from rlregress.tracing import jobs, trace_comparison, trace_reader
from rlregress.tracing.child_processes import last_words
from rlregress.tracing.recording_processes import current, record_twice


def trace(
    context: typer.Context,
    script: Annotated[
        str | None, typer.Argument(metavar="[SCRIPT]", help="A training script.")
    ] = None,
    framework: Annotated[
        str, typer.Option(metavar="NAME", help="A built-in training of it instead.")
    ] = "",
    algorithm: Annotated[str, typer.Option(metavar="NAME", help="Its algorithm.")] = "",
    package: Packages = None,
    steps: Steps = 0,
    target: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The trace; run.trace.")
    ] = "run.trace",
) -> None:
    """Example:

    rlregress trace train.py -o before.trace -- --seed 1

    Records what a training does, event by event, twice; what follows -- are the arguments of the
    script. Exit code 0: the trace repeats itself to the bit, 3: it does not and proves nothing, 2:
    nothing could be recorded.
    """
    path = None if script is None else Path(script)
    given = script_arguments(context)
    job = jobs.job(path, given, framework, algorithm, names("--package", package), steps)
    raise typer.Exit(record(job, Path(target)))


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", show_default=False)],
    new: Annotated[Path, typer.Argument(metavar="NEW", show_default=False)],
) -> None:
    """Example:

    rlregress diff before.trace after.trace

    Compares two traces, and prints where they differ first. Exit code 0: equal to the bit or up to
    rounding, 1: diverged, 2: a trace cannot be read.
    """
    raise typer.Exit(compared(old, new))


def record(job: Mapping[str, Any], path: Path) -> int:
    """Record twice and say what was recorded; 0, or 3 if the trace does not repeat itself."""
    folder = files.absolute(path).parent
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder} to write the trace to")
    check_file(path, "the trace")
    repeated = record_twice(job, path, current("installed"))
    if repeated.trace.failure:
        raise UserError(
            f"the training ended in an error after {len(repeated.trace.events)} events: "
            f"{last_words(repeated.trace.failure)}{_place(repeated.trace)}"
        )
    output.decided()
    for line in traces_text.recorded(repeated, path, path.stat().st_size):
        typer.echo(line)
    output.next_steps([next_steps.after_trace(path, repeated.repeats)])
    return 0 if repeated.repeats else 3


def _place(trace: Trace) -> str:
    """In words, file and line of an error, in the library and in the script."""
    at, by = (trace.error.get(key, "") for key in ("at", "by"))
    called = f", called by {by}" if at and by and at != by else ""
    return f" at {at or by}{called}" if at or by else ""


def compared(a: Path, b: Path) -> int:
    """Compare two traces and say where they differ first; 0 if equal or close, 1 if diverged."""
    one, other = trace_reader.load(a), trace_reader.load(b)
    for path, side in ((a, one), (b, other)):
        if side.failure:
            raise UserError(
                f"the training in {path} ended in an error, and nothing is compared: "
                f"{last_words(side.failure)}"
            )
        if not side.events:
            raise UserError(f"{path} holds no events, and nothing is compared; record it again")
    comparison = trace_comparison.compare(one, other)
    output.decided()
    for line in explain.comparison(comparison, one, other):
        typer.echo(line)
    diverged = comparison.verdict == "diverged"
    output.next_steps([next_steps.after_diff(diverged)])
    return 1 if diverged else 0

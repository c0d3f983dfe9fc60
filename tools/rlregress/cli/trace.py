"""``rlregress trace`` and ``rlregress diff``: record traces, and compare them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rlregress import files
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.cli import golden_commands, output
from rlregress.cli.options import Packages, Steps
from rlregress.cli.parsing import get_script_arguments
from rlregress.errors import UserError
from rlregress.inside.run_record import check_file_is_writable
from rlregress.model import explain
from rlregress.report import next_steps, traces_text
from rlregress.trace import jobs, trace_reader
from rlregress.trace.recording_processes import make_current_runtime, record_trace_twice
from rlregress.upgrade.evidence import compared_trainings

#: default file of a trace
_TRACE = "run.trace"


def trace(
    context: typer.Context,
    script: Annotated[
        str | None, typer.Argument(metavar="[SCRIPT]", help="Training script to record.")
    ] = None,
    framework: Annotated[
        str, typer.Option(metavar="NAME", help="Framework whose built-in training to record.")
    ] = "",
    algorithm: Annotated[str, typer.Option(metavar="NAME", help="Algorithm to train.")] = "",
    package: Packages = None,
    steps: Steps = 0,
    target: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Trace file; default: run.trace.")
    ] = _TRACE,
    golden_file: Annotated[
        str, typer.Option("--golden", metavar="FILE", help="Golden file to write: text to commit.")
    ] = "",
) -> None:
    """Example:

    rlregress trace train.py -o before.trace -- --seed 1

    Records what a training does, event by event, twice; what follows -- are the arguments of the
    script. Exit code 0: the trace repeats itself to the bit, 3: it does not and proves nothing, 2:
    nothing could be recorded.
    """
    path = None if script is None else Path(script)
    arguments = get_script_arguments(context)
    job = jobs.build_job(
        path,
        arguments,
        framework,
        algorithm,
        split_comma_separated_names("--package", package),
        steps,
    )
    if not golden_file:
        raise typer.Exit(record_twice_and_report(job, Path(target)))
    if path is None or target != _TRACE:
        instead = "name a script in place of --framework" if path is None else "leave --output out"
        raise UserError(f"--golden records a script to its own file; {instead}")
    raise typer.Exit(golden_commands.record_golden_file(job, path, Path(golden_file)))


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", show_default=False)],
    new: Annotated[Path | None, typer.Argument(metavar="[NEW]", show_default=False)] = None,
    script: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Script to record; OLD is its golden file.")
    ] = None,
) -> None:
    """Example:

    rlregress diff before.trace after.trace

    Prints where two traces differ first. A training may have ended in an error: it is compared
    up to there, then the errors are. With --script, OLD is a golden file, and the script is
    recorded again. Exit code 0: equal to the bit, or traces up to rounding, 1: diverged, 2: not
    comparable, 3: the script does not repeat itself.
    """
    if (new is None) == (script is None):
        raise UserError(
            "expected either NEW, a second trace, or --script, the script of a golden file; found "
            f"{'neither' if new is None else 'both'}"
        )
    raise typer.Exit(
        golden_commands.compare_with_golden_file(old, script)
        if script
        else compare_trace_files(old, new or old)
    )


def record_twice_and_report(job: Mapping[str, Any], path: Path) -> int:
    """Record twice and report; return 0, or 3 if the trace does not repeat itself."""
    folder = files.resolve_real_path(path).parent
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder} to write the trace to; make it first")
    check_file_is_writable(path, "the trace")
    repeated = record_trace_twice(job, path, make_current_runtime("installed"))
    if repeated.trace.failure:
        raise UserError(
            f"{explain.describe_early_end(repeated.trace)}; what came before is in {path}"
        )
    output.mark_exit_code_decided()
    for line in traces_text.describe_recording(repeated, path, path.stat().st_size):
        typer.echo(line)
    output.print_next_steps([next_steps.suggest_after_trace(path, repeated.repeats)])
    return 0 if repeated.repeats else 3


def compare_trace_files(old_path: Path, new_path: Path) -> int:
    """Compare two traces and report the first difference; return 0 if equal or close, else 1."""
    traces = {path: trace_reader.load_trace(path) for path in (old_path, new_path)}
    old, new = traces[old_path], traces[new_path]
    same_end = _remove_places_of_error(old.error_text) == _remove_places_of_error(new.error_text)
    for path, trace in traces.items():
        if not trace.events and same_end:
            why = f": the training ended in {trace.error_text}" if trace.failure else ""
            raise UserError(
                f"{path} holds no events, and nothing is compared{why}; record it again"
            )
    comparison = compared_trainings.compare_traces_and_their_ends(old, new)
    first = comparison.first
    lines = explain.describe_trace_comparison(comparison, old, new)
    if not same_end and (first is None or first.old is first.new is None):
        lines = [f"diverged: all {comparison.equal} events are the same, but not the end"]
    lines += [
        f"{path} ended in {trace.error_text}" for path, trace in traces.items() if trace.failure
    ]
    output.mark_exit_code_decided()
    for line in lines:
        typer.echo(line)
    diverged = comparison.verdict == "diverged" or not same_end
    output.print_next_steps([next_steps.suggest_after_diff(diverged)])
    return 1 if diverged else 0


def _remove_places_of_error(ending: str) -> str:
    """Return an error without files, lines and addresses, which differ between equal trainings."""
    return re.sub(r"\S+:\d+ |0x[0-9a-f]+", "", ending)

"""Golden files of scripts: ``rlregress trace --golden`` and ``rlregress diff --script``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from rlregress.cli import output
from rlregress.errors import UserError
from rlregress.inside.arithmetic import explain_not_portable
from rlregress.inside.run_record import check_file_is_writable
from rlregress.model import explain
from rlregress.model.recorded_traces import Trace
from rlregress.report import next_steps, traces_text
from rlregress.trace import golden, jobs, recording_processes


def record_golden_file(job: Mapping[str, Any], script: Path, path: Path) -> int:
    """Record a script twice and write its golden file; return 3 if the recordings differ."""
    check_file_is_writable(path, "the golden file")
    runtime = recording_processes.make_current_runtime("installed", portable=True)
    with TemporaryDirectory(prefix="rlregress-golden-") as folder:
        repeated = recording_processes.record_trace_twice(job, Path(folder) / "run.trace", runtime)
    if repeated.trace.failure:
        raise UserError(f"{explain.describe_early_end(repeated.trace)}; no golden file is written")
    native = _explain_why_not_portable(repeated.trace)
    if native:
        raise UserError(
            f"no golden file is written, because other machines would compute other numbers: "
            f"{native}; keep a trace for this machine with -o in place of --golden"
        )
    lines = [f"no golden file is written to {path}"]
    if repeated.repeats:
        golden.write_golden_file(path, repeated.trace)
        written = golden.load_golden_file(path)
        single, blocks = len(written.events), len(written.blocks)
        lines = traces_text.describe_golden_file(repeated.trace, single, blocks, path)
    output.mark_exit_code_decided()
    for line in [*repeated.describe_seeds_and_repeatability(), *lines]:
        typer.echo(line)
    output.print_next_steps([next_steps.suggest_after_golden_file(path, script, repeated.repeats)])
    return 0 if repeated.repeats else 3


def compare_with_golden_file(path: Path, script: Path) -> int:
    """Record a script again and compare it with a golden file; return 1 if it differs.

    Raises:
        UserError: it differs, and the file was recorded with another arithmetic than this one.
    """
    old = golden.load_golden_file(path)
    job = jobs.build_script_job(script, old.arguments, old.packages, old.steps)
    runtime = recording_processes.make_current_runtime("installed", portable=True)
    with TemporaryDirectory(prefix="rlregress-golden-") as folder:
        trace = recording_processes.record_trace(job, Path(folder) / "run.trace", runtime)
        if not trace.has_begun:
            recording_processes.check_something_was_traced(trace, runtime.label)
            raise UserError(f"{explain.describe_early_end(trace)}; nothing is compared")
        result = golden.compare_with_golden(old, trace)
        reasons = (
            ("this machine", _explain_why_not_portable(trace)),
            (path, explain_not_portable(old.arithmetic)),
        )
        for source, native in reasons:
            if native and not result.is_same:
                raise UserError(
                    f"not comparable: {source} computed with arithmetic that depends on the "
                    f"machine ({native}); compare on the CPU of an x86-64 machine with AVX2, "
                    "with one thread and no GPU"
                )
        repeated = (
            None if result.is_same else recording_processes.record_trace_again(job, trace, runtime)
        )
    if repeated is not None and not repeated.repeats:
        lines, code, step = (
            repeated.describe_seeds_and_repeatability(),
            3,
            next_steps.suggest_after_trace(path, repeats=False),
        )
    else:
        lines, code = traces_text.describe_golden_difference(result, trace), int(not result.is_same)
        step = next_steps.suggest_after_golden_comparison(result, path, script, old.arguments)
    output.mark_exit_code_decided()
    for line in lines:
        typer.echo(line)
    output.print_next_steps([step])
    return code


def _explain_why_not_portable(trace: Trace) -> str:
    """Return why other machines would compute other numbers; empty if they would not."""
    if trace.header["gpu"]:
        return "a GPU was used, expected the CPU"
    return explain_not_portable(trace.header["arithmetic"])

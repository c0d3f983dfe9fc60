"""``rlregress trace`` and ``rlregress diff``: record traces, and compare them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from rlregress import files
from rlregress.commands import following, output
from rlregress.errors import UserError
from rlregress.model import explain
from rlregress.reporting import next_steps
from rlregress.reporting import traces as traces_report
from rlregress.tracing import compare, trace
from rlregress.tracing.processes import last_words
from rlregress.tracing.run import current, record_twice
from rlregress.training.record import check_file


def record(job: Mapping[str, Any], path: Path) -> int:
    """Record twice and say what was recorded; 0, or 3 if the trace does not repeat itself."""
    folder = files.absolute(path).parent
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder} to write the trace to")
    check_file(path, "the trace")
    repeated = record_twice(job, path, current("A"))
    if repeated.trace.failure:
        raise UserError(
            f"the training ended in an error after {len(repeated.trace.events)} events: "
            f"{last_words(repeated.trace.failure)}"
        )
    output.decided()
    for line in traces_report.recorded(repeated, path, path.stat().st_size):
        typer.echo(line)
    following.say([next_steps.after_trace(path, repeated.repeats)])
    return 0 if repeated.repeats else 3


def diff(a: Path, b: Path) -> int:
    """Compare two traces and say where they differ first; 0 if equal or close, 1 if diverged."""
    one, other = trace.load(a), trace.load(b)
    for path, side in ((a, one), (b, other)):
        if side.failure:
            raise UserError(
                f"the training in {path} ended in an error, and nothing is compared: "
                f"{last_words(side.failure)}"
            )
        if not side.events:
            raise UserError(f"{path} holds no events, and nothing is compared; record it again")
    comparison = compare.compare(one, other)
    output.decided()
    for line in explain.comparison(comparison, one, other):
        typer.echo(line)
    diverged = comparison.verdict == "diverged"
    following.say([next_steps.after_diff(diverged)])
    return 1 if diverged else 0

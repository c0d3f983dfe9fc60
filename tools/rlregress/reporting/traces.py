"""``rlregress trace`` and ``rlregress diff``: what was recorded, and how two records compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from rlregress import frameworks
from rlregress.errors import UserError, nearest
from rlregress.tracing import compare, explain, run
from rlregress.tracing import trace as traces
from rlregress.tracing.processes import last_words
from rlregress.training.record import check_writable


def job(
    script: Path | None,
    arguments: Sequence[str],
    framework: str,
    algorithm: str,
    packages: Sequence[str],
    steps: int,
) -> dict[str, Any]:
    """The job of a command line.

    Raises:
        UserError: neither or both of a script and a framework; a script or an algorithm that does
            not exist.
    """
    if (script is None) == (not framework):
        raise UserError(
            "expected either a script, or --framework and --algorithm of a built-in training; "
            f"found {'both' if framework else 'neither'}"
        )
    if script is not None:
        if algorithm:
            raise UserError("--algorithm chooses a built-in training; leave it out with a script")
        return of_script(script, arguments, packages, steps)
    if arguments:
        raise UserError(f"'{' '.join(arguments)}' would be arguments of a script; name the script")
    trainings = list(frameworks.get(framework).trace_trainings())
    if algorithm not in trainings:
        clause = nearest(algorithm, trainings)
        raise UserError(f"{framework} has no built-in training of '{algorithm}'; {clause}")
    found = {"framework": framework, "algorithm": algorithm, "steps": steps, "seed": 0}
    return {**found, "packages": list(packages)}


def of_script(
    script: Path, arguments: Sequence[str], packages: Sequence[str], steps: int
) -> dict[str, Any]:
    """The job of a script; UserError if there is none."""
    if not script.is_file():
        raise UserError(f"there is no script {script}; expected a Python file")
    known = [frameworks.get(name) for name in frameworks.names()]
    modules = [module for adapter in known for module in adapter.modules]
    return {
        "script": str(script.resolve()),
        "arguments": list(arguments),
        "packages": list(packages) or modules,
        "steps": steps,
    }


def record(asked: dict[str, Any], output: Path) -> int:
    """Record twice and say what was recorded; 0, or 3 if the trace does not repeat itself."""
    if not output.resolve().parent.is_dir():
        raise UserError(f"there is no folder {output.resolve().parent} to write the trace to")
    if output.is_dir():
        raise UserError(f"{output} is a folder; expected the name of a file for the trace")
    check_writable(output.resolve().parent, "the trace")
    side = run.current("A")
    repeated = run.record_twice(asked, output, side)
    found = repeated.trace
    if found.failure:
        raise UserError(
            f"the training ended in an error after {len(found.events)} events: "
            f"{last_words(found.failure)}"
        )
    size = output.stat().st_size / 1024
    typer.echo(f"{output}: {len(found.events)} events ({explain.counts(found)}), {size:.0f} KiB")
    for line in repeated.lines():
        typer.echo(line)
    typer.echo("it repeats itself to the bit" if repeated.repeats else "it proves nothing")
    return 0 if repeated.repeats else 3


def diff(a: Path, b: Path) -> int:
    """Compare two traces and say where they differ first; 0 if equal or close, 1 if diverged."""
    one, other = traces.load(a), traces.load(b)
    for path, side in ((a, one), (b, other)):
        if side.failure:
            raise UserError(
                f"the training in {path} ended in an error, and nothing is compared: "
                f"{last_words(side.failure)}"
            )
    found = compare.compare(one, other)
    for line in explain.comparison(found, one, other):
        typer.echo(line)
    return 1 if found.verdict == "diverged" else 0

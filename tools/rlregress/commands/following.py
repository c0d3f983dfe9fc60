"""The last lines of a command: what to do next."""

from __future__ import annotations

from collections.abc import Iterable

import typer


def say(steps: Iterable[str]) -> None:
    """Print the steps, each in a line of its own."""
    for step in steps:
        typer.echo(f"next: {step}")

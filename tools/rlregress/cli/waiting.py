"""How far a command is: beside its results, not among them."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from rlregress.frameworks.base import Adapter
from rlregress.gate import probe_counts
from rlregress.progress import Progress


def say(line: str) -> None:
    """Print a line on the error output."""
    typer.echo(line, err=True)


def progress(total: int, what: str, first: int = 4) -> Progress:
    """Counts what is done; see ``Progress``."""
    return Progress(total, say, what, first)


def probe_all(adapters: Sequence[Adapter]) -> None:
    """Probe every detail of the frameworks, in every scope, and print how far that is.

    What is read later rests on these results: each is probed once.
    """
    total = sum(len(adapter.probes()) for adapter in adapters)
    say(f"asking {', '.join(adapter.full_name for adapter in adapters)} for {total} details")
    counted = progress(total, "details asked")
    probe_counts.everything(adapters, counted.done)

"""How far a command is: beside its results, not among them."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from rlregress import progress
from rlregress.frameworks.base import Adapter
from rlregress.gate import probe_counts


def say(line: str) -> None:
    """Print a line on the error output."""
    typer.echo(line, err=True)


def probe_all(adapters: Sequence[Adapter]) -> None:
    """Probe every detail of the frameworks, in every scope, and print how far that is.

    What is read later rests on these results: each is probed once.
    """
    total = sum(len(adapter.observe.probes()) for adapter in adapters)
    say(f"asking {', '.join(adapter.full_name for adapter in adapters)} for {total} details")
    with progress.show_progress(say):
        progress.begin("probing details", total)
        probe_counts.probe_everything(adapters, progress.done)

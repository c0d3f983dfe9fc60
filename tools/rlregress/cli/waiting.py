"""Reports the progress of a command on the error output, apart from its results."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from rlregress import progress
from rlregress.check import probe_counts
from rlregress.frameworks.base import Adapter


def print_to_error_output(line: str) -> None:
    """Print a line on the error output."""
    typer.echo(line, err=True)


def probe_all_with_progress(adapters: Sequence[Adapter]) -> None:
    """Probe every detail of the frameworks in every scope, and report progress.

    The results are cached, so later reads cost nothing.
    """
    total = sum(len(adapter.observe.list_probes()) for adapter in adapters)
    print_to_error_output(
        f"probing {total} details of {', '.join(adapter.full_name for adapter in adapters)}"
    )
    with progress.show_progress(print_to_error_output):
        progress.begin_stage("probing details", total)
        probe_counts.probe_all_details(adapters, progress.count_done_parts)

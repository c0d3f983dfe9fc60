"""``--html FILE``: writes the result of a command as a page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

from rlregress import files
from rlregress.check import report_data
from rlregress.inside.run_record import check_file_is_writable, write_text_atomically
from rlregress.report.html.page import PageInfo


@dataclass(frozen=True)
class RequestedPage:
    """A page to write when a command has its results.

    Attributes:
        path: None: no page was requested.
        started: date and time when the command began.
        clock: the same moment by ``time.monotonic``.
    """

    path: Path | None
    command: str
    started: str
    clock: float

    def write_and_print_path(self, title: str, build_page: Callable[[PageInfo], str]) -> None:
        """Write the page that ``build_page`` returns and print its path, if one was requested."""
        if self.path is None:
            return
        seconds = round(time.monotonic() - self.clock, 1)
        text = build_page(
            PageInfo(title, self.started, seconds, report_data.describe_machine(), self.command)
        )
        write_text_atomically(self.path, text)
        typer.echo(f"page: {self.path}", err=True)


def prepare_requested_page(path: str, command: str) -> RequestedPage:
    """Check that the file of ``--html`` can be written, and note when the command starts.

    Raises:
        UserError: the file cannot be written.
    """
    place = files.resolve_real_path(path) if path else None
    if place is not None:
        check_file_is_writable(place, "the page")
    return RequestedPage(place, command, report_data.format_time_with_offset(), time.monotonic())

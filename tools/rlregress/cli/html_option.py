"""``--html FILE``: what a command prints, as a page too."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

from rlregress import files
from rlregress.gate import report_data
from rlregress.inside.run_record import check_file, write_atomically
from rlregress.reporting.html.page import Facts


@dataclass(frozen=True)
class Page:
    """A page that is to be written when a command has its results.

    Attributes:
        path: None: none was asked for.
        started: date and time; ``clock``: the same for a duration.
    """

    path: Path | None
    command: str
    started: str
    clock: float

    def write(self, title: str, build_page: Callable[[Facts], str]) -> None:
        """Write the page that ``build_page`` returns, and report its path; nothing
        without --html.
        """
        if self.path is None:
            return
        seconds = round(time.monotonic() - self.clock, 1)
        text = build_page(
            Facts(title, self.started, seconds, report_data.describe_machine(), self.command)
        )
        write_atomically(self.path, text)
        typer.echo(f"page: {self.path}", err=True)


def begin(path: str, command: str) -> Page:
    """The page that ``--html`` asks for; none if it is empty.

    Raises:
        UserError: the file cannot be written; said before anything is started.
    """
    place = files.absolute(path) if path else None
    if place is not None:
        check_file(place, "the page")
    return Page(place, command, report_data.format_time(), time.monotonic())

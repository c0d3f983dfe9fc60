"""Processes that something has started and left behind."""

from __future__ import annotations

from pathlib import Path


def processes_with(mark: str) -> list[str]:
    """Return the command lines of the processes that were started with a mark in a variable."""
    command_lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                command_lines.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:  # it has ended meanwhile, or is somebody else's
            continue
    return command_lines

"""Processes of a recording or a question: ended together with the command that started them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_RUNNING: set[subprocess.Popen[str]] = set()


def call(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | str | None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and keep what it says."""
    with subprocess.Popen(
        command,
        env=dict(environment),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        _RUNNING.add(process)
        try:
            out, error = process.communicate()
        finally:
            _RUNNING.discard(process)
            if process.poll() is None:
                process.kill()
    return subprocess.CompletedProcess(command, process.returncode, out, error)


def last_words(said: str) -> str:
    """The last line of what a process said before it ended."""
    return (said.strip().splitlines() or ["nothing was said"])[-1].strip()


def end() -> None:
    """End all that are running."""
    for process in list(_RUNNING):
        process.terminate()

"""Processes of a recording or a question: ended together with the command that started them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

_RUNNING: set[subprocess.Popen[Any]] = set()


def call(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | str | None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and keep what it says."""
    with (
        # not pipes: a recorder reads again what its training has printed
        TemporaryFile("w+", encoding="utf-8", errors="replace") as printed,
        TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            command, env=dict(environment), cwd=folder, stdout=printed, stderr=errors
        ) as process,
    ):
        _RUNNING.add(process)
        try:
            process.wait()
        finally:
            _RUNNING.discard(process)
            if process.poll() is None:
                process.kill()
        for file in (printed, errors):
            file.seek(0)
        out, error = printed.read(), errors.read()
    return subprocess.CompletedProcess(command, process.returncode, out, error)


def last_words(stderr: str) -> str:
    """What a process said last: of a traceback the error, however many lines it has."""
    lines = stderr.strip().splitlines() or ["nothing was said"]
    frames = [n for n, line in enumerate(lines) if line.startswith('  File "')]
    below = [line for line in lines[frames[-1] :] if not line.startswith(" ")] if frames else []
    return (below or lines[-1:])[0].strip()


def end() -> None:
    """End all that are running."""
    for process in list(_RUNNING):
        process.terminate()


def follow(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | str | None,
    line: Callable[[str], None],
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, handing on each line that it prints as it comes."""
    with (
        TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            command,
            env=dict(environment),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        _RUNNING.add(process)
        try:
            assert process.stdout is not None
            for printed in process.stdout:
                line(printed.rstrip("\n"))
            process.wait()
        finally:
            _RUNNING.discard(process)
            if process.poll() is None:
                process.kill()
        errors.seek(0)
        output = errors.read()
    return subprocess.CompletedProcess(command, process.returncode, "", output)

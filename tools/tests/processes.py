"""Processes of Python that tests start, and those that something has left behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlregress import suite
from rlregress.training import worker_launch


def run_python(
    *words: object, code: int | None = 0, python: str | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run Python and return the ended process; another exit code is an error with its output.

    Args:
        code: the expected exit code; None: any.
        python: the executable; None: the one of this process.
        options: of ``subprocess.run``.
    """
    __tracebackhide__ = True
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    process = subprocess.run([python or sys.executable, *map(str, words)], **options)
    assert code in (None, process.returncode), f"{process.stdout}{process.stderr}"
    return process


def run_pytest(
    *words: object,
    code: int | None = 0,
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, the suite's if none is named, as the suite's commands do."""
    environment = worker_launch.make_worker_environment() | dict(variables or {})
    words = ("-m", "pytest", "-p", "no:cacheprovider", *words)
    return run_python(*words, code=code, cwd=cwd or suite.find_suite_root(), env=environment)


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

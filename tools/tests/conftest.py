"""What the tests of the house share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import pytest

from rlregress import cli

from . import warm


@pytest.fixture(scope="session")
def warm_executable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What is called as Python is, and begins with torch imported; see ``warm``."""
    if not hasattr(os, "pidfd_open"):  # not on Linux: Python itself
        yield sys.executable
        return
    folder = tmp_path_factory.getbasetemp()
    # the processes of one pytest-xdist share their servers
    above = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with warm.command(above / "warm") as executable:
        yield executable


@pytest.fixture
def warm_python(warm_executable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each new process of this Python begins with torch imported.

    Not where it is asked how a process starts, or what it imports.
    """
    monkeypatch.setattr(sys, "executable", warm_executable)


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command with arguments; returns exit code, output, error output."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rlregress", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capfd.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run

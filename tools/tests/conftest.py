"""What the tests of the house share."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from rlregress import cli
from tests_performance.conftest import warm_executable, warm_python

__all__ = ["command", "warm_executable", "warm_python"]


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command with arguments; returns exit code, output, error output."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rlregress", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        text = capfd.readouterr()
        return int(ended.value.code or 0), text.out, text.err

    return run

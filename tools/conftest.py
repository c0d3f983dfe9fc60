"""What the tests of the house share."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from rlregress import cli
from tests_performance.conftest import warm_executable, warm_python

__all__ = ["command", "warm_executable", "warm_python"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--rewrite-snapshots``: write what the tests found instead of comparing with it."""
    parser.addoption("--rewrite-snapshots", action="store_true", help="accept what changed")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the ten files whose tests took most of a run of a minute or more."""
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    total = seconds.total()
    if total >= 60:
        terminalreporter.section("dearest files")
        for name, taken in seconds.most_common(10):
            terminalreporter.line(f"{taken:5.0f} s {taken / total:4.0%} {name}")


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text as a whole with a file of ``snapshots`` beside the test.

    ``pytest FILE --rewrite-snapshots`` writes the files anew; ``git diff`` then shows what changed.
    """

    def compare(name: str, text: str) -> None:
        __tracebackhide__ = True
        path = request.path.parent / "snapshots" / name
        if request.config.getoption("--rewrite-snapshots"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        stored = path.read_text(encoding="utf-8") if path.is_file() else ""
        if text != stored:
            changes = difflib.unified_diff(stored.splitlines(), text.splitlines(), lineterm="")
            told = f"{path} holds another text; if that is meant, give --rewrite-snapshots"
            pytest.fail("\n".join([told, *changes]))

    return compare


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

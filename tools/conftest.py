"""Fixtures and options that all tests of the library share."""

from __future__ import annotations

import difflib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from rlregress import cli
from rlregress.check import tier_progress
from tests_performance.conftest import warm_executable, warm_python

__all__ = ["command", "warm_executable", "warm_python"]

# on a busy machine an example takes as long as it takes
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of these tests."""
    parser.addoption("--rewrite-snapshots", action="store_true", help="accept what changed")
    parser.addoption("--dearest", type=int, default=10, help="files in the list of the dearest")


_cpu_seconds_before = pytest.StashKey[float]()


def _cpu_seconds() -> float:
    # with child processes that have ended; without servers that the tests share
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note the CPU seconds before a test."""
    item.stash[_cpu_seconds_before] = _cpu_seconds()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Report the CPU seconds of a test."""
    item.user_properties.append(("cpu seconds", _cpu_seconds() - item.stash[_cpu_seconds_before]))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the files whose tests took most of a run of a minute or more."""
    seconds: Counter[str] = Counter()
    cpu_seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                name = report.nodeid.partition("::")[0]
                seconds[name] += report.duration
                cpu_seconds[name] += dict(report.user_properties).get("cpu seconds", 0.0)
    total = seconds.total()
    if total >= 60:
        terminalreporter.section("dearest files: seconds, their share, CPU seconds")
        count = terminalreporter.config.getoption("--dearest")
        for name, duration in seconds.most_common(count):
            terminalreporter.line(
                f"{duration:5.0f} s {duration / total:4.0%} {cpu_seconds[name]:5.0f} {name}"
            )
        terminalreporter.line(f"{total:5.0f} s 100% {cpu_seconds.total():5.0f} in all")


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_disks() -> Iterator[None]:
    """Files of tests need not survive a power failure: a record takes 13 ms less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with a file of ``snapshots`` beside the test.

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
            message = f"{path} holds another text; if that is meant, give --rewrite-snapshots"
            pytest.fail("\n".join([message, *changes]))

    return compare


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs the command: arguments -> exit code, output, error output."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rlregress", *arguments])
        with pytest.raises(SystemExit) as exit_error:
            cli.main()
        text = capfd.readouterr()
        return int(exit_error.value.code or 0), text.out, text.err

    return run


@pytest.fixture
def uncollected_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a plan expect ten minutes of tests instead of collecting them in a process."""
    monkeypatch.setattr(tier_progress, "estimate_seconds_of_tests", lambda _: 600.0)

"""Resuming a run of tests that was stopped: ``pytest -p tools.stopped_run``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

_passed = pytest.StashKey[frozenset[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.addoption(
        "--resume",
        type=Path,
        default=Path("build/nightly-passed.txt"),
        metavar="FILE",
        help="tests that have passed: they are not run again; once all have, FILE is removed",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read which tests passed before; processes of xdist get them from their controller."""
    path = config.getoption("--resume")
    passed = getattr(config, "workerinput", {}).get("passed")
    if passed is None:
        passed = path.read_text(encoding="utf-8").splitlines() if path.is_file() else ()
        config.pluginmanager.register(_Passes(path))
    config.stash[_passed] = frozenset(passed)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a process of xdist the tests that passed before: all must collect the same."""
    node.workerinput["passed"] = sorted(node.config.stash[_passed])


def pytest_report_header(config: pytest.Config) -> str:
    """Return how many tests are not run again."""
    return f"{len(config.stash[_passed])} tests passed before: {config.getoption('--resume')}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that passed before."""
    passed = [item for item in items if item.nodeid in config.stash[_passed]]
    if passed:
        config.hook.pytest_deselected(items=passed)
        items[:] = [item for item in items if item.nodeid not in config.stash[_passed]]


class _Passes:
    """Appends each test to the file once it has passed or was skipped."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self._failed:
            with self._path.open("a", encoding="utf-8") as file:
                print(report.nodeid, file=file)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.OK:
            self._path.unlink(missing_ok=True)

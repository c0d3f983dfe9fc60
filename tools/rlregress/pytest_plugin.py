"""What ``conftest.py`` switches on: options, parametrisation, order, evidence.

Tests ask for what they need by argument name:

- ``framework``: an adapter; the test runs once per selected framework.
- ``implementation``: one detail on one framework in one scope; the test names the detail with
  ``@pytest.mark.detail("sac.critic_loss.scale")``.
- ``training``, ``judged_cell``, ``judged_group``: one run, one cell, one group of the session.
- ``evidence``: attaches what was found to the report of the test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from rlregress import suite
from rlregress.details.implementation import Implementation, implementations
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.gate import selection
from rlregress.gate.session import Session
from rlregress.reporting import evidence as evidence_file
from rlregress.reporting import terminal
from rlregress.training.cell import Job
from rlregress.training.store import Store
from rlregress.verdicts.outcome import CellVerdict, GroupVerdict

_SESSION = pytest.StashKey[Session]()
_COLLECTED = pytest.StashKey[list[dict[str, Any]]]()


@dataclass(frozen=True)
class Training:
    """One run of the session."""

    session: Session
    job: Job

    def run(self) -> dict[str, Any]:
        """Train in a worker process unless the store has the run; the record."""
        return self.session.train(self.job)


@dataclass(frozen=True)
class Judged:
    """One cell, or one group of cells, of the session."""

    session: Session
    name: str
    kind: str

    def verdict(self) -> CellVerdict | GroupVerdict:
        """The verdict, judged with the whole session as one family."""
        verdicts = self.session.verdicts()
        return verdicts.cells[self.name] if self.kind == "cell" else verdicts.groups[self.name]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the suite."""
    group = parser.getgroup("rlregress", "regression tests of reinforcement-learning frameworks")
    group.addoption("--framework", default="", help="names, comma-separated (default: installed)")
    group.addoption("--algorithm", default="", help="names, comma-separated (default: all)")
    group.addoption(
        "--environment", default="", help="gymnasium ids, comma-separated (default: stored cells)"
    )
    group.addoption("--budget", default="smoke", help="smoke (default), short or full")
    group.addoption(
        "--cells", default="default", help="stored cells to judge: default, all, or id patterns"
    )
    group.addoption("--seeds", type=int, default=0, help="new runs per cell (default: the budget's)")
    group.addoption("--alpha", type=float, default=0.05, help="false alarms per session (0.05)")
    group.addoption("--store", default="", help="folder of run records (default: runs/)")
    group.addoption(
        "--unpinned", action="store_true", help="do not limit a training to one thread (slow)"
    )
    group.addoption("--evidence", default="", help="write what was found to this JSON file")


def pytest_configure(config: pytest.Config) -> None:
    """Register markers; hand out tests one at a time, so that long runs spread evenly."""
    config.addinivalue_line("markers", "detail(id): the detail of the catalogue that is asserted")
    config.stash[_COLLECTED] = []
    if hasattr(config.option, "maxschedchunk") and config.option.maxschedchunk is None:
        config.option.maxschedchunk = 1


def _names(config: pytest.Config, option: str) -> list[str]:
    return [name for name in config.getoption(option).split(",") if name]


def _adapters(config: pytest.Config) -> list[Adapter]:
    try:
        return selection.adapters(_names(config, "--framework"))
    except UserError as error:
        raise pytest.UsageError(str(error)) from None


def session_of(config: pytest.Config) -> Session:
    """The trainings that the options select, made once per process."""
    if _SESSION not in config.stash:
        try:
            chosen = selection.Selection(
                budget=config.getoption("--budget"),
                frameworks=_names(config, "--framework"),
                algorithms=_names(config, "--algorithm"),
                environments=_names(config, "--environment"),
                cells=config.getoption("--cells"),
            )
            seeds = config.getoption("--seeds") or selection.budget(chosen.budget).seeds
            store = Path(config.getoption("--store") or suite.root() / "runs")
            config.stash[_SESSION] = Session(
                cells=selection.choose(chosen),
                store=Store(store.resolve()),
                seeds=seeds,
                alpha=config.getoption("--alpha"),
                pinned=not config.getoption("--unpinned"),
            )
        except UserError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[_SESSION]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per framework, implementation, run, cell or group, as the arguments ask."""
    names = metafunc.fixturenames
    if "framework" in names:
        adapters = _adapters(metafunc.config)
        metafunc.parametrize("framework", adapters, ids=[a.name for a in adapters])
    if "implementation" in names:
        found = _implementations(metafunc)
        metafunc.parametrize("implementation", found, ids=[i.name for i in found])
    if not {"training", "judged_cell", "judged_group"} & set(names):
        return
    session = session_of(metafunc.config)
    if "training" in names:
        trainings = [Training(session, job) for job in session.ordered_jobs()]
        ids = [f"{t.job.cell.id}-seed{t.job.seed}" for t in trainings]
        metafunc.parametrize("training", trainings, ids=ids)
    if "judged_cell" in names:
        cells = [Judged(session, cell.id, "cell") for cell in session.cells if session.judged]
        metafunc.parametrize("judged_cell", cells, ids=[cell.name for cell in cells])
    if "judged_group" in names:
        groups = [Judged(session, name, "group") for name in session.groups()]
        metafunc.parametrize("judged_group", groups, ids=[group.name for group in groups])


def _implementations(metafunc: pytest.Metafunc) -> list[Implementation]:
    markers = [m for m in metafunc.definition.iter_markers("detail")]
    if len(markers) != 1 or len(markers[0].args) != 1:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid} takes an implementation but does not name one detail; "
            'mark it with @pytest.mark.detail("<id>")'
        )
    try:
        return [
            implementation
            for adapter in _adapters(metafunc.config)
            for implementation in implementations(adapter, markers[0].args[0])
        ]
    except UserError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture
def evidence(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``evidence(name=value)`` attaches plain data or dataclasses to the report of the test."""

    def attach(**found: Any) -> None:
        for name, value in found.items():
            plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
            text = json.dumps(evidence_file.plain(plain))
            request.node.user_properties.append((name, text))

    return attach


def _subject(item: pytest.Item) -> str:
    """The framework that a test is about, or nothing."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    if "framework" in params:
        return params["framework"].name
    if "implementation" in params:
        return params["implementation"].adapter.name
    if "training" in params:
        return params["training"].job.cell.framework
    for name in ("judged_cell", "judged_group"):
        if name in params:
            return params[name].session.framework_of(params[name].name)
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note of every test which framework it is about."""
    for item in items:
        subject = _subject(item)
        if subject:
            item.user_properties.append(("framework", subject))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """A user error is reported as its sentence, without a traceback."""
    report = yield
    call_error = getattr(report, "longrepr", None)
    crash = getattr(call_error, "reprcrash", None)
    if crash is not None and crash.message.startswith(f"{UserError.__module__}.UserError: "):
        report.longrepr = crash.message.partition(": ")[2]
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect outcomes; under xdist this runs in the controller, where the summary is made."""
    config = _CONFIG.get("config")
    if config is None:
        return
    if report.when == "call" or report.outcome != "passed":
        config.stash[_COLLECTED].append(evidence_file.entry(report))


_CONFIG: dict[str, pytest.Config] = {}


def pytest_sessionstart(session: pytest.Session) -> None:
    """Reports arrive without a config; remember it."""
    _CONFIG["config"] = session.config


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The verdicts, below pytest's own lines; the evidence file, if asked for."""
    entries = config.stash[_COLLECTED]
    for line in terminal.verdict_lines(entries):
        terminalreporter.write_line(line)
    target = config.getoption("--evidence")
    if target and "PYTEST_XDIST_WORKER" not in os.environ:
        evidence_file.write(Path(target), entries)

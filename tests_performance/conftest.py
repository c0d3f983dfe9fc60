"""Starts trainings with torch imported, except those whose returns are judged."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from rlregress.inside.machine import read_cpu_name
from rlregress.pytest_plugin import is_xdist_worker, subjects
from rlregress.training.budgets import load_budget
from tests_behavior.every_commit import is_touched
from tests_performance import warm

#: framework and algorithm of the training of every commit; tests of launched runs train SB3's SAC
_PIPELINE = ("sb3", "ppo")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark trainings that are not judged as nightly: one runs the pipeline at every commit.

    So do those of a framework that the commit touches. The other adapters train in
    ``tests_behavior``.
    """
    for item in items:
        # where no cell is trained, a value of pytest's stands for none
        job = getattr(subjects.get_test_parameters(item).get("training"), "job", None)
        if job and not load_budget(job.cell.budget).judged:
            cell = job.cell
            if (cell.framework, cell.algorithm) != _PIPELINE and not is_touched(cell.framework):
                item.add_marker(subjects.NIGHTLY)


@pytest.fixture(scope="session")
def warm_executable(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[str]:
    """Yield an executable that is called like Python and has torch imported; see ``warm``."""
    if not hasattr(os, "pidfd_open"):  # not on Linux: Python itself
        yield sys.executable
        return
    folder = tmp_path_factory.getbasetemp()
    # the processes of one pytest-xdist share their servers
    above = folder.parent if is_xdist_worker(pytestconfig) else folder
    with warm.make_warm_executable(above / "warm") as executable:
        yield executable


@pytest.fixture
def warm_python(warm_executable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each new process of this Python begin with torch imported.

    It is not for tests of how a process starts, or of what it imports.
    """
    monkeypatch.setattr(sys, "executable", warm_executable)


def may_begin_warm(fixtures: Collection[str], judged: bool) -> bool:
    """Return whether a test's workers may be forked from a process that has imported torch.

    Not if returns are judged, nor if memory is measured: a child has that of its parent.
    A replay compares only numbers.
    """
    return "replayed_cell" in fixtures or (not judged and "throughput" not in fixtures)


@pytest.fixture(autouse=True)
def _start_workers_warm(request: pytest.FixtureRequest) -> None:
    """Fork workers from a process that has imported torch, unless returns are judged."""
    if may_begin_warm(
        request.fixturenames, load_budget(request.config.getoption("--budget")).judged
    ):
        request.getfixturevalue("warm_python")


def pytest_benchmark_generate_machine_info() -> dict[str, str]:
    """Return the description of the machine for stored measurements, without its name and owner."""
    return {"cpu": read_cpu_name(), "system": platform.system(), "machine": platform.machine()}


def pytest_benchmark_update_json(output_json: dict[str, Any]) -> None:
    """Remove names of this checkout, and parameters of tests, from stored measurements."""
    output_json["commit_info"] = {}
    for measured in output_json["benchmarks"]:
        measured["params"] = None

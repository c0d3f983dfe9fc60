"""Trainings begin with torch imported, but those whose return is judged: new in every respect."""

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
    """What is called as Python is, and begins with torch imported; see ``warm``."""
    if not hasattr(os, "pidfd_open"):  # not on Linux: Python itself
        yield sys.executable
        return
    folder = tmp_path_factory.getbasetemp()
    # the processes of one pytest-xdist share their servers
    above = folder.parent if is_xdist_worker(pytestconfig) else folder
    with warm.command(above / "warm") as executable:
        yield executable


@pytest.fixture
def warm_python(warm_executable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each new process of this Python begins with torch imported.

    Not where it is asked how a process starts, or what it imports.
    """
    monkeypatch.setattr(sys, "executable", warm_executable)


def begins_warm(fixtures: Collection[str], judged: bool) -> bool:
    """Return whether a test's workers may come from a process that has torch.

    Not where returns are judged, nor where memory is: a child has that of the process it is of.
    Of a replay only the numbers are compared.
    """
    return "replayed_cell" in fixtures or (not judged and "throughput" not in fixtures)


@pytest.fixture(autouse=True)
def _workers(request: pytest.FixtureRequest) -> None:
    """Workers whose returns are not judged come from a process that has torch."""
    if begins_warm(request.fixturenames, load_budget(request.config.getoption("--budget")).judged):
        request.getfixturevalue("warm_python")


def pytest_benchmark_generate_machine_info() -> dict[str, str]:
    """Return what a stored measurement says of its machine: not its name, nor its owner."""
    return {"cpu": read_cpu_name(), "system": platform.system(), "machine": platform.machine()}


def pytest_benchmark_update_json(output_json: dict[str, Any]) -> None:
    """Leave out names of this checkout, and the parameters of tests, which are objects."""
    output_json["commit_info"] = {}
    for measured in output_json["benchmarks"]:
        measured["params"] = None

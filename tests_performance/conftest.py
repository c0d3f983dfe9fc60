"""Trainings that nobody judges begin with torch imported; a judged one is new in every respect."""

from __future__ import annotations

import pytest

from rlregress.training.budgets import budget
from tools.tests.conftest import warm_executable, warm_python

__all__ = ["warm_executable", "warm_python"]


@pytest.fixture(autouse=True)
def _workers(request: pytest.FixtureRequest) -> None:
    """Workers of a budget whose returns are not judged come from a process that has torch."""
    if not budget(request.config.getoption("--budget")).judged:
        request.getfixturevalue("warm_python")

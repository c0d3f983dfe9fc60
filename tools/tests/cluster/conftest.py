"""Fixtures of the tests of runs on many machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlregress.training.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store without records."""
    return Store(tmp_path / "runs")

"""What the tests of upgrades share."""

from __future__ import annotations

import pytest

from rlregress.upgrade.versions import cached_folders
from tools.tests.trace.conftest import recorded

__all__ = ["cache", "recorded"]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Name an empty cache, which is not there yet."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"

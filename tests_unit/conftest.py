"""What the tests of this folder share."""

from __future__ import annotations

import gc

import pytest

# what is imported until the tests are collected stays: looking for garbage among it takes a second
gc.disable()


def pytest_collection_finish():
    """The garbage collector goes through what comes from now on, and not through what was there."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def suite_framework(framework):
    """Skip what is documented here, and so asked of the frameworks of this repository alone."""
    if framework.framework.expectations is not None:
        pytest.skip(f"{framework} is another party's: it documents what it wants")

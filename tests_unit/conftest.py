"""What the tests of this folder share."""

from __future__ import annotations

import gc

import pytest


def pytest_collection_finish():
    """What was imported stays: the garbage collector does not go through it again and again."""
    gc.freeze()


@pytest.fixture
def of_this_suite(framework):
    """Skip what is documented here, and so asked of the frameworks of this repository alone."""
    if framework.expectations() is not None:
        pytest.skip(f"{framework.title} is another party's: it documents what it wants")

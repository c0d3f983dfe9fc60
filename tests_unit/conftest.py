"""Fixtures and hooks that the tests of this folder share."""

from __future__ import annotations

import gc

import pytest

# what is imported until the tests are collected stays: looking for garbage among it takes a second
gc.disable()


def pytest_collection_finish():
    """Exclude all objects that exist by now from garbage collection."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def suite_framework(framework):
    """Skip a framework of a third party, which has documentation of its own."""
    if framework.framework.expectations is not None:
        pytest.skip(f"{framework} is another party's: it documents what it wants")

"""What the tests of recordings share."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def _no_garbage() -> None:
    """A recording looks for garbage at fixed events, and not among what was there before it."""
    # with the first optimiser torch imports half of itself
    import torch._dynamo  # noqa: F401

    gc.freeze()

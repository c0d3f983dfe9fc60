"""What the tests of the house share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from . import warm


@pytest.fixture(scope="session")
def _warm_executable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.getbasetemp()
    # the processes of one pytest-xdist share their servers
    above = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with warm.command(above / "warm") as executable:
        yield executable


@pytest.fixture(scope="module")
def warm_python(_warm_executable: str) -> Iterator[None]:
    """Each new process of this Python begins with torch imported; see ``warm``.

    Not for tests that are about starting, importing or ending a process.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", _warm_executable)
        yield

"""The dearest tests of behaviour, of two frameworks at every commit and of the others at night."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlregress.pytest_plugin import subjects

#: files whose trainings take longest.
_DEAREST = {"test_time_limits.py", "test_ladder.py", "test_determinism.py", "test_relations.py"}
#: frameworks whose tests run the most of the code that all share.
_AT_EVERY_COMMIT = {"sb3", "torchrl"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, before ``-m "not nightly"`` leaves tests out; without that all run."""
    for item in items:
        if item.path.parent != Path(__file__).parent or item.path.name not in _DEAREST:
            continue
        if (framework := subjects.framework_of(item)) and framework not in _AT_EVERY_COMMIT:
            item.add_marker(subjects.NIGHTLY)

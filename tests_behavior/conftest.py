"""The dearest tests of behaviour: some at every commit, all at night."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlregress.pytest_plugin import subjects

#: files whose trainings take longest.
_DEAREST = {"test_time_limits.py", "test_ladder.py", "test_determinism.py", "test_relations.py"}


def _is_nightly(file: str, framework: str, algorithm: str, stored_kind: str) -> bool:
    """Return whether other tests, at every commit, run the same code of the suite."""
    if file in _DEAREST:
        if framework == "torchrl":
            # the other files train the other algorithms as well
            return algorithm not in ("", "ppo")
        # what SB3's SAC stores and bootstraps from is tested in test_truncation.py
        return framework != "sb3" or (file, algorithm) == ("test_time_limits.py", "sac")
    if file == "test_old_files.py":
        # SB3 and SB3-Contrib save every algorithm by the same code
        is_saved_by_sb3 = framework in ("sb3", "contrib")
        return is_saved_by_sb3 and algorithm != "ppo" and "buffer" not in stored_kind
    return False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, before ``-m "not nightly"`` leaves tests out; without that all run."""
    for item in items:
        if item.path.parent == Path(__file__).parent and (framework := subjects.framework_of(item)):
            params = subjects.parameters(item)
            subject = params.get("algorithm", ""), params.get("stored_kind", "")
            if _is_nightly(item.path.name, framework, *subject):
                item.add_marker(subjects.NIGHTLY)

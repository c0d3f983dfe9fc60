"""Which tests of behaviour run at every commit; all run at night, and without ``-m``."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlregress.pytest_plugin import subjects
from tests_behavior.every_commit import is_shown, is_touched

#: files whose trainings take longest.
_DEAREST = {"test_time_limits.py", "test_ladder.py", "test_determinism.py", "test_relations.py"}


def _is_nightly(file: str, framework: str, algorithm: str, stored_kind: str) -> bool:
    """Return whether other tests, at every commit, run the same code of the suite."""
    if is_touched(framework):
        return False
    if not is_shown(framework):
        return True
    if file == "test_old_files.py":
        # SB3 saves every algorithm by the same code
        return framework == "sb3" and algorithm != "ppo" and "buffer" not in stored_kind
    if file == "test_time_limits.py":
        return (framework, algorithm) not in (("sb3", "td3"), ("torchrl", "ppo"))
    # one on-policy algorithm, and one off-policy algorithm where a training is short or cheap
    if framework == "torchrl":
        return algorithm not in ("", "ppo", *(() if file in _DEAREST else ("sac",)))
    return file in _DEAREST and algorithm not in ("ppo", "td3", "dqn")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, before ``-m "not nightly"`` leaves tests out; without that all run."""
    for item in items:
        if item.path.parent == Path(__file__).parent and (framework := subjects.framework_of(item)):
            params = subjects.parameters(item)
            algorithm = params.get("algorithm", params.get("other", ""))
            kind = params.get("stored_kind", "")
            if _is_nightly(item.path.name, framework, algorithm, kind):
                item.add_marker(subjects.NIGHTLY)

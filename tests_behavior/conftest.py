"""Marks the behaviour tests that run only at night; without ``-m`` all run.

A commit that does not touch TorchRL's adapter trains its PPO alone: determinism of its SAC, TD3,
DQN and DDPG is tested at night.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rlregress.pytest_plugin import subjects
from tests_behavior.every_commit import is_shown, is_touched

#: files whose trainings take longest.
_DEAREST = {"test_time_limits.py", "test_ladder.py", "test_determinism.py", "test_relations.py"}
#: of each test, some cases run at every commit: nothing runs in a user's check for the first time
_ALWAYS_SAMPLED = {("sb3", "ppo"), ("sb3", "td3")}


def _is_nightly(file: str, framework: str, algorithm: str, stored_kind: str) -> bool:
    """Return whether a test runs only at night: others run the same code at every commit."""
    if is_touched(framework):
        return False
    if not is_shown(framework):
        return True
    if file == "test_old_files.py":
        # a library saves every algorithm by the same code
        return algorithm != "ppo" and (framework == "sb3" or "buffer" not in stored_kind)
    if framework == "torchrl":
        # what it does at a time limit is tested in test_truncation.py
        return algorithm not in ("", "ppo") or file == "test_time_limits.py"
    return file in _DEAREST and algorithm not in ("ppo", "td3")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark nightly tests, before ``-m "not nightly"`` leaves them out."""
    for item in items:
        if item.path.parent == Path(__file__).parent and (
            framework := subjects.get_framework_of_test(item)
        ):
            params = subjects.get_test_parameters(item)
            algorithm = params.get("algorithm", params.get("other", ""))
            kind = params.get("stored_kind", "")
            is_left_out = item.get_closest_marker(subjects.SAMPLED) and (
                (framework, algorithm) not in _ALWAYS_SAMPLED
            )
            if is_left_out or _is_nightly(item.path.name, framework, algorithm, kind):
                item.add_marker(subjects.NIGHTLY)

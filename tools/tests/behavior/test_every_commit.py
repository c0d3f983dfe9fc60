"""A commit tests two frameworks and those that it touches; the nightly run tests all."""

from __future__ import annotations

import subprocess

import pytest

from rlregress import frameworks, suite
from tests_behavior import conftest, every_commit

ALL_FRAMEWORKS = frozenset(frameworks.list_framework_names())


@pytest.fixture
def git(tmp_path):
    """Run git in a folder."""

    def run(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    return run


@pytest.fixture
def touched(tmp_path):
    """Return a function that returns the touched frameworks of a folder, as they are now."""

    def touched():
        every_commit.find_touched_frameworks.cache_clear()
        return every_commit.find_touched_frameworks(tmp_path)

    return touched


def test_paths_of_a_framework_touch_it(tmp_path, git, touched):
    """An edit, a new file and the last commit touch the frameworks that their paths name."""
    stored, base, details = (tmp_path / name for name in (
        "returns/skrl-ppo-Reacher-v4-short.toml", "frameworks/base.py", "details/rsl_rl/ppo.toml"
    ))  # fmt: skip
    for path in (stored, base, details):
        path.parent.mkdir(parents=True)
    stored.touch()
    git("init")
    git("add", ".")
    for message in ("before all", "the last"):
        git("commit", "--allow-empty", "-m", message)
    assert touched() == set()
    stored.write_text("edited")
    base.touch()
    assert touched() == {"skrl"}
    details.touch()
    assert touched() == {"skrl", "rsl_rl"}
    git("add", ".")
    git("commit", "-m", "all of them")
    assert touched() == {"skrl", "rsl_rl"}
    git("commit", "--allow-empty", "-m", "nothing")
    assert touched() == set()


def test_every_commit_that_upstream_lacks_is_compared(tmp_path, git, touched):
    """Frameworks of unpushed commits count as touched; after a push only the last commit counts."""
    git("init", "-b", "work")
    git("commit", "--allow-empty", "-m", "before all")
    git("branch", "upstream")
    git("branch", "--set-upstream-to", "upstream")
    for framework in ("skrl", "rsl_rl"):
        (tmp_path / framework).touch()
        git("add", ".")
        git("commit", "-m", framework)
    assert touched() == {"skrl", "rsl_rl"}
    git("branch", "--force", "upstream", "work")
    assert touched() == {"rsl_rl"}


def test_without_git_history_every_framework_counts_as_touched(git, touched):
    """Outside of a checkout, and at the first commit, every framework counts as touched."""
    assert touched() == ALL_FRAMEWORKS
    git("init")
    assert touched() == ALL_FRAMEWORKS


@pytest.mark.parametrize(
    ("touched", "at_commit"),
    [
        (set(), {"sb3-ppo", "sb3-td3", "torchrl-ppo"}),
        ({"skrl"}, {"sb3-ppo", "sb3-td3", "torchrl-ppo", "skrl-ppo", "skrl-td3"}),
        ({"torchrl"}, {"sb3-ppo", "sb3-td3", "torchrl-ppo", "torchrl-td3"}),
    ],
)
def test_a_commit_tests_two_frameworks_and_touched_ones(monkeypatch, touched, at_commit):
    """A framework that a commit touches is shown with all algorithms, others for the night."""
    monkeypatch.setattr(every_commit, "find_touched_frameworks", lambda _: touched)
    shown = {
        f"{framework}-{algorithm}"
        for framework in ALL_FRAMEWORKS
        for algorithm in ("ppo", "td3")
        if not conftest._is_nightly("test_segments.py", framework, algorithm, "")
    }
    assert shown == at_commit


def test_no_test_of_a_check_waits_for_the_night():
    """A user's check runs all tests; each has run at every commit before, if not in all cases."""
    files = [*suite.find_suite_root().glob("tests_[ub]*/test_*.py")]
    assert len(files) > 20
    decorators = "@pytest.mark.nightly\n", "pytestmark = pytest.mark.nightly\n"
    assert [file.name for file in files if any(d in file.read_text() for d in decorators)] == []

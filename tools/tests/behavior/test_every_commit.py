"""A commit tests two frameworks and those that it touches; the nightly run tests all."""

from __future__ import annotations

import subprocess

import pytest

from rlregress import frameworks
from tests_behavior import conftest, every_commit

ALL_FRAMEWORKS = frozenset(frameworks.list_framework_names())


@pytest.fixture
def git(tmp_path):
    """Run git in a folder."""

    def run(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    return run


@pytest.mark.parametrize(
    ("how", "changed", "touched"),
    [
        ("committed", "README.md", set()),
        ("edited", "baselines/returns/skrl-ppo-Reacher-v4-short.toml", {"skrl"}),
        ("edited", "tools/rlregress/frameworks/base.py", set()),
        ("committed", "tools/rlregress/frameworks/skrl/observe/ppo.py", {"skrl"}),
        ("added", "baselines/details/rsl_rl/ppo.toml", {"rsl_rl"}),
    ],
)
def test_a_path_of_a_framework_touches_it(tmp_path, git, how, changed, touched):
    """A commit, an edit and a new file touch the frameworks that their paths name."""
    path = tmp_path / changed
    path.parent.mkdir(parents=True, exist_ok=True)
    git("init")
    git("commit", "--allow-empty", "-m", "before all")
    if how == "edited":
        path.write_text("old")
    git("add", ".")
    git("commit", "--allow-empty", "-m", "an older one")
    git("commit", "--allow-empty", "-m", "the one before")
    assert every_commit.touched_frameworks(tmp_path) == set()
    every_commit.touched_frameworks.cache_clear()
    path.write_text("new")
    if how == "committed":
        git("add", ".")
        git("commit", "-m", "the last")
    assert every_commit.touched_frameworks(tmp_path) == touched


def test_every_commit_that_upstream_lacks_is_compared(tmp_path, git):
    """Frameworks of unpushed commits count as touched; after a push only the last commit counts."""
    git("init", "-b", "work")
    git("commit", "--allow-empty", "-m", "before all")
    git("branch", "upstream")
    git("branch", "--set-upstream-to", "upstream")
    for framework in ("skrl", "rsl_rl"):
        (tmp_path / framework).touch()
        git("add", ".")
        git("commit", "-m", framework)
    assert every_commit.touched_frameworks(tmp_path) == {"skrl", "rsl_rl"}
    every_commit.touched_frameworks.cache_clear()
    git("branch", "--force", "upstream", "work")
    assert every_commit.touched_frameworks(tmp_path) == {"rsl_rl"}


def test_without_git_history_every_framework_counts_as_touched(tmp_path, git):
    """Outside of a checkout, and at the first commit, every framework counts as touched."""
    assert every_commit.touched_frameworks(tmp_path) == ALL_FRAMEWORKS
    every_commit.touched_frameworks.cache_clear()
    git("init")
    assert every_commit.touched_frameworks(tmp_path) == ALL_FRAMEWORKS


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
    monkeypatch.setattr(every_commit, "touched_frameworks", lambda _: touched)
    shown = {
        f"{framework}-{algorithm}"
        for framework in ALL_FRAMEWORKS
        for algorithm in ("ppo", "td3")
        if not conftest._is_nightly("test_segments.py", framework, algorithm, "")
    }
    assert shown == at_commit

"""``runs launch --with``: the runs are those of other code, and every node finds that code."""

from __future__ import annotations

import json
import os

import pytest

from rlregress.cli import with_versions as commands_versions
from rlregress.errors import UserError
from rlregress.inside import checkpoint
from rlregress.training.store import Store
from rlregress.upgrade.versions import cached_folders

from .short_runs import PACKAGE, jobs, other_code, rlregress

RUNS = ("--budget", "smoke", "--framework", "sb3", "--algorithm", "ppo",
        "--environment", "InvertedPendulum-v4", "--seeds", "1")  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return a working tree of a framework whose code differs by a comment."""
    return other_code(tmp_path_factory.mktemp("tree"))


@pytest.mark.nightly
def test_runs_of_a_launch_with_another_version_are_done_with_it(tree, tmp_path):
    """The printed command trains with the other version; without it a run refuses."""
    launch = rlregress("runs", "launch", "--with", str(tree), *RUNS, "--store", str(tmp_path))
    assert launch.returncode == 0, launch.stderr
    assert launch.stdout.startswith(f"with {tree} (tree): ")
    assert f"\none run: PYTHONPATH={tree}:" in launch.stdout
    (manifest,) = (tmp_path / "manifests").iterdir()
    run = ("runs", "run", "--manifest", str(manifest), "--index", "0")
    plain = rlregress(*run, "--store", str(tmp_path))
    assert plain.returncode == 2
    assert f"would train other code than planned: '{PACKAGE}' has the digest" in plain.stderr

    done = rlregress("runs", "launch", "--local", f"--with={tree}", *RUNS, "--store", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    (name,) = Store(tmp_path).list_runs_by_state().done
    record = json.loads((tmp_path / f"{name}.json").read_text())
    (digest_here,) = {job.sources[PACKAGE] for job in jobs([0])}
    assert record["status"] == "finished"
    assert record["job"]["sources"][PACKAGE] != digest_here


def test_environments_that_others_may_write_are_not_used(tmp_path, command, monkeypatch):
    """They are run as code: a store that somebody has handed over would be obeyed."""
    monkeypatch.delenv(cached_folders.CACHE_VARIABLE, raising=False)
    store = tmp_path / "store"
    (store / "environments").mkdir(parents=True)
    store.chmod(0o777)
    words = ("runs", "launch", "--with", "stable-baselines3==0.0.1", *RUNS, "--store", str(store))
    code, _, error = command(*words)
    assert (code, error.count("\n")) == (2, 1)
    assert f"others may change them: everybody may write to it ({store})" in error
    assert "--trust-pickle" in error


@pytest.mark.skipif(os.getuid() != 0, reason="root alone can give a folder to others")
def test_environments_of_another_user_are_not_used(tmp_path, monkeypatch):
    """Only those of a shared store's group, or trusted ones, are used."""
    os.chown(tmp_path, 54321, 54321)
    with pytest.raises(UserError, match="others may change them: it belongs to the user 54321"):
        commands_versions._check_nobody_else_can_write(tmp_path)
    tmp_path.chmod(0o775)
    monkeypatch.setattr(os, "getgroups", lambda: [54321])
    commands_versions._check_nobody_else_can_write(tmp_path)
    tmp_path.chmod(0o777)
    with pytest.raises(UserError, match="others may change them: everybody may write to it"):
        commands_versions._check_nobody_else_can_write(tmp_path)
    monkeypatch.setenv(checkpoint.TRUST, "1")
    commands_versions._check_nobody_else_can_write(tmp_path)

"""``rlregress launch --with``: the runs are those of other code, and every node finds that code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rlregress.training.store import Store

from .runs import PACKAGE, jobs, other_code, rlregress

RUNS = (
    *("--budget", "smoke", "--framework", "sb3", "--algorithm", "ppo"),
    *("--environment", "InvertedPendulum-v4", "--seeds", "1"),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A working tree of a framework whose code differs by a comment."""
    return other_code(tmp_path_factory.mktemp("tree"))


@pytest.mark.nightly
def test_runs_of_a_launch_with_another_version_are_done_with_it(tree, tmp_path):
    """By whoever calls ``run`` as it says; without that version a run refuses."""
    listed = rlregress("launch", "--with", str(tree), *RUNS, "--store", str(tmp_path))
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.startswith(f"with {tree} (tree): ")
    assert f"\none run: PYTHONPATH={tree}:" in listed.stdout
    (manifest,) = (tmp_path / "manifests").iterdir()
    plain = rlregress("run", "--manifest", str(manifest), "--index", "0", "--store", str(tmp_path))
    assert plain.returncode == 2
    assert f"would train other code than planned: '{PACKAGE}' has the digest" in plain.stderr

    done = rlregress("launch", "--local", f"--with={tree}", *RUNS, "--store", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    (name,) = Store(tmp_path).contents().done
    record = json.loads((tmp_path / f"{name}.json").read_text())
    (here,) = {job.sources[PACKAGE] for job in jobs([0])}
    assert record["status"] == "finished"
    assert record["job"]["sources"][PACKAGE] != here


def test_a_script_of_slurm_tells_its_tasks_where_the_version_is(tree, tmp_path):
    """As it is for this command."""
    dry = ("launch", "--slurm", "--dry-run", "--with", str(tree), *RUNS)
    printed = rlregress(*dry, "--store", str(tmp_path), PATH="")
    assert printed.returncode == 0, printed.stderr
    (paths,) = re.findall("^export PYTHONPATH=(.*)$", printed.stdout, re.MULTILINE)
    assert Path(paths.split(":")[0]) == tree
    assert "--with" not in printed.stdout


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ("installed", "--with is 'installed', which is what is installed; leave it out"),
        ("sb3", "is not pinned to one version; write"),
        ("no/such/folder", "is no folder and no file"),
        ("requests==2.0.0", "concerns no framework known here"),
    ],
)
def test_versions_that_are_none_are_refused(versions, said, tmp_path, command):
    """In one sentence, before anything is written."""
    store = tmp_path / "store"
    code, printed, error = command("launch", "--with", versions, *RUNS, "--store", str(store))
    assert (code, printed) == (2, "")
    assert said in error
    assert error.count("\n") == 1
    assert not store.exists()

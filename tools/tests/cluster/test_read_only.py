"""Stores that can only be read: they are looked at and checked, and nothing else."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace

import pytest

from rlregress.training import lease, worker_launch
from rlregress.training.store import Store
from tools.tests.nightly import every

from .short_runs import jobs, rlregress, write_listed

#: prctl(2), and what capabilities(7) lets root do: write, search and change the files of anybody.
_DROP, _OF_ROOT = 24, (1, 2, 3)


def _as_others() -> None:
    """Root becomes a user who may do what the modes of files allow; others are that already."""
    for capability in _OF_ROOT:
        ctypes.CDLL(None).prctl(_DROP, capability, 0, 0, 0)


def called(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of somebody who obeys the modes of files."""
    return rlregress(*arguments, before=_as_others)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[Store]:
    """Three listed runs, one of which another machine does; nobody may write to it."""
    new_store = Store(tmp_path_factory.mktemp("shared") / "runs")
    all_jobs = jobs(range(3))
    write_listed(new_store, all_jobs)
    path = new_store.path(all_jobs[0]).with_suffix(".lease")
    path.parent.mkdir()
    path.write_text(json.dumps(asdict(replace(lease.describe_this_process(), machine="elsewhere"))))
    (new_store.folder / "slurm").mkdir()
    folders = [new_store.folder, *(path for path in new_store.folder.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield new_store
    for folder in folders:
        folder.chmod(0o755)


@pytest.mark.nightly
def test_a_store_that_can_only_be_read_is_looked_at(store):
    """What is there, whose clock tells the ages, what is wrong and what is left."""
    status = called("runs", "status", "--store", str(store.folder))
    assert (status.returncode, status.stderr) == (0, "")
    assert "sb3-sac     -       -        1      -        -        2    3" in status.stdout
    assert "this machine's clock, because you may not write to the store" in status.stdout
    checked = called("runs", "status", "--verify", "--store", str(store.folder))
    assert (checked.returncode, checked.stderr) == (0, "")
    options = ("--budget", "smoke", "--framework", "sb3", "--algorithm", "sac")
    planned = called("plan", *options, "--store", str(store.folder))
    assert (planned.returncode, planned.stderr) == (0, "")
    words = f"-m rlregress runs status --watch --store {store.folder}".split()
    environment = worker_launch.worker_environment()
    # until all is done
    options = {"env": environment, "preexec_fn": _as_others, "timeout": 5, "check": True}
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, *words], **options)


@pytest.mark.parametrize(
    "arguments",
    every(7, [
        "runs run --manifest {manifest} --index 1 --store {store}",
        "check --budget smoke --framework sb3 --store {store}",
        "runs launch --local --manifest {manifest} --store {store}",
        "runs launch --slurm --manifest {manifest} --store {store}",
        "runs launch --budget smoke --framework sb3 --store {store}",
        "runs status --verify --set-aside --store {store}", "runs merge {store} -o {store}",
    ]),
)  # fmt: skip
def test_what_writes_to_it_is_refused(store, tmp_path, arguments):
    """In one sentence that names it, before anything is trained."""
    (manifest,) = (store.folder / "manifests").iterdir()
    words = [word.format(manifest=manifest, store=store.folder) for word in arguments.split()]
    if words[0] == "check":
        words += ["--report", str(tmp_path / "report")]
    error = called(*words)
    assert error.returncode == 2, error.stdout
    (lines,) = error.stderr.splitlines()
    assert lines.startswith("rlregress: ")
    assert str(store.folder) in lines
    assert "Permission denied" in lines
    assert "make room" not in lines

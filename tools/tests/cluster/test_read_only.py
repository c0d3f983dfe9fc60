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
_DROP, _ROOT_CAPABILITIES = 24, (1, 2, 3)


def _drop_rights() -> None:
    """Drop the capabilities with which root ignores the modes of files."""
    for capability in _ROOT_CAPABILITIES:
        ctypes.CDLL(None).prctl(_DROP, capability, 0, 0, 0)


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody who obeys the modes of files."""
    return rlregress(*arguments, before=_drop_rights)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[Store]:
    """Yield three listed runs, one of which another machine does; nobody may write to it."""
    new_store = Store(tmp_path_factory.mktemp("shared") / "runs")
    all_jobs = jobs(range(3))
    write_listed(new_store, all_jobs)
    path = new_store.locate_record(all_jobs[0]).with_suffix(".lease")
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
    """Status, verification, plan and watch work; ages are by this machine's clock."""
    status = run_command("runs", "status", "--store", str(store.folder))
    assert (status.returncode, status.stderr) == (0, "")
    assert "sb3-sac     -       -        1      -        -        2    3" in status.stdout
    assert "clock, because you may not write to the store" in status.stdout
    checked = run_command("runs", "status", "--verify", "--store", str(store.folder))
    assert (checked.returncode, checked.stderr) == (0, "")
    options = ("--budget", "smoke", "--framework", "sb3", "--algorithm", "sac")
    planned = run_command("plan", *options, "--store", str(store.folder))
    assert (planned.returncode, planned.stderr) == (0, "")
    words = f"-m rlregress runs status --watch --store {store.folder}".split()
    environment = worker_launch.make_worker_environment()
    # until all is done
    options = {"env": environment, "preexec_fn": _drop_rights, "timeout": 5, "check": True}
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
def test_commands_that_write_to_a_read_only_store_are_refused(store, tmp_path, arguments):
    """One sentence names the store, before anything is trained."""
    (manifest,) = (store.folder / "manifests").iterdir()
    words = [word.format(manifest=manifest, store=store.folder) for word in arguments.split()]
    if words[0] == "check":
        words += ["--report", str(tmp_path / "report")]
    error = run_command(*words)
    assert error.returncode == 2, error.stdout
    (lines,) = error.stderr.splitlines()
    assert lines.startswith("rlregress: ")
    assert str(store.folder) in lines
    assert "Permission denied" in lines
    assert "make room" not in lines

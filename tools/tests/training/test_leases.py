"""Leases: one attempt holds a run, and its lease ends with it however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import rlregress
from rlregress.training import lease
from rlregress.training.lease import BEAT_SECONDS, STALE_SECONDS, Lease, read_holder

HOLD = """
import sys, time
from pathlib import Path
from rlregress.training.lease import Lease
print(Lease(Path(sys.argv[1])).take_if_free(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def path(tmp_path) -> Path:
    """Return a path for a lease."""
    return tmp_path / "run.lease"


def write_lease(path: Path, **changes) -> None:
    """Write the lease of an attempt, with some changes."""
    path.write_text(json.dumps(asdict(replace(lease.describe_this_process(), **changes))))


def take_after(path: Path, later: float = 0.0) -> bool:
    """Return whether a new attempt gets the lease after so many seconds without a heartbeat."""
    for lease_file in (path, path.with_name(f"{path.name}.over")):
        if later and lease_file.exists():
            os.utime(lease_file, (time.time() - later,) * 2)
    return Lease(path).take_if_free()


def test_of_many_that_find_a_lease_that_is_over_one_gets_it(path):
    """One replaces it, and the others see the new one."""
    with ThreadPoolExecutor(8) as threads:
        for round in range(30):
            write_lease(path, attempt=f"over-{round}", begun=1)
            leases = [Lease(path) for _ in range(8)]
            begin = threading.Barrier(8)

            def take(lease_file: Lease, begin=begin) -> bool:
                begin.wait()
                return lease_file.take_if_free()

            results = zip(leases, threads.map(take, leases), strict=True)
            won = [lease_file for lease_file, is_taken in results if is_taken]
            final = read_holder(path)
            assert final is not None
            assert [lease_file.holder.attempt for lease_file in won] == [final.attempt]
            won[0].release_lease()
            assert list(path.parent.iterdir()) == []


def test_the_lease_of_a_killed_process_is_over_at_once(path):
    """SIGKILL leaves the file; the next attempt sees that the process has ended, and counts it."""
    library = str(Path(rlregress.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        env={**os.environ, "PYTHONPATH": library},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    assert not take_after(path)
    process.send_signal(signal.SIGKILL)
    # not waited for: a process that has ended and is still listed has ended
    while "Z" not in Path(f"/proc/{process.pid}/stat").read_text():
        time.sleep(0.01)
    after = Lease(path)
    assert after.take_if_free()
    assert after.holder.restarts == 1
    assert after.replaced is not None
    assert after.replaced.process == process.pid
    process.wait()


@pytest.mark.parametrize("machine", ["of another boot", None])
def test_the_lease_of_another_machine_is_over_when_its_heart_has_stopped(path, machine):
    """Without a process to look up, also in an empty lease, ten missing heartbeats end it."""
    path.touch() if machine is None else write_lease(path, machine=machine)
    assert STALE_SECONDS == 10 * BEAT_SECONDS
    assert not take_after(path, later=STALE_SECONDS - 10)
    assert take_after(path, later=STALE_SECONDS + 10)


def test_what_a_replacement_that_died_has_left_is_in_the_way_for_a_while(path):
    """Who comes ten heartbeats later removes it, and the next one gets the lease."""
    write_lease(path, attempt="over", begun=1)
    path.with_name(f"{path.name}.over").touch()
    assert not take_after(path)
    assert not take_after(path, later=STALE_SECONDS - 10)
    assert not take_after(path, later=STALE_SECONDS + 10)
    assert take_after(path)


@pytest.mark.parametrize(
    ("task", "restarts", "over"),
    [("7", "1", True), ("7", "2", False), ("8", None, False)],
)
def test_a_task_that_slurm_starts_again_has_ended_before(path, monkeypatch, task, restarts, over):
    """The same task with a higher count of restarts, on whatever node, takes the lease at once."""
    before = {"SLURM_JOB_ID": task} | ({"SLURM_RESTART_COUNT": restarts} if restarts else {})
    write_lease(path, machine="of another node", slurm=before)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    assert take_after(path) == over


def test_an_attempt_notices_that_it_has_lost_its_lease(path, monkeypatch):
    """It is notified, and leaves the lease of the other unchanged."""
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.01)
    values = threading.Event()
    lease_held = Lease(path)
    lease_held.on_lost = values.set
    assert lease_held.take_if_free()
    path.unlink()
    write_lease(path, attempt="the-other")
    assert values.wait(10)
    assert lease_held.is_lost
    lease_held.release_lease("stopped")
    other_holder = read_holder(path)
    assert other_holder is not None
    assert (other_holder.attempt, other_holder.ended) == ("the-other", "")


def test_a_heart_beats(path, monkeypatch):
    """The file is touched while the lease is held, and made again if it is gone."""
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.01)
    lease_held = Lease(path)
    assert lease_held.take_if_free()
    os.utime(path, (1, 1))
    while path.stat().st_mtime < 2:
        time.sleep(0.01)
    path.unlink()
    while not path.exists():
        time.sleep(0.01)
    lease_held.release_lease()


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_name_is_given_once(tmp_path, monkeypatch, links):
    """A file is put where none is, also on a file system without hard links."""
    if not links:

        def refuses(*_):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuses)
    for name in ("first", "second"):
        (tmp_path / name).write_text(name)
    assert lease.rename_if_free(tmp_path / "first", tmp_path / "there")
    assert not lease.rename_if_free(tmp_path / "second", tmp_path / "there")
    assert (tmp_path / "there").read_text() == "first"
    assert not (tmp_path / "first").exists()
    assert (tmp_path / "second").exists()

"""``rlregress runs run``: one run as one command, whatever happens to it."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import threading
from dataclasses import asdict, replace

import pytest

from rlregress.cluster import run_one
from rlregress.errors import UserError
from rlregress.inside.checkpoint import TRUST
from rlregress.training import lease, worker_launch
from rlregress.training.store import Store
from tools.tests.nightly import every

from .short_runs import (
    ENDLESS,
    begin,
    has_ended,
    holder,
    jobs,
    start,
    worker_of,
    workers,
    write_listed,
)
from .slurm_daemons import until

pytestmark = pytest.mark.usefixtures("warm_python")


def assert_ended(process, code: int, *message: str) -> None:
    """The process has ended with a code and has said this."""
    __tracebackhide__ = True
    output, _ = process.communicate(timeout=120)
    assert process.returncode == code, output
    for part in message:
        assert part in output


def list_suffixes(store: Store) -> set[str]:
    """Return the endings of the files of runs."""
    return {path.suffix for path in store.folder.glob("*-v4-*/*")}


def test_a_run_that_was_killed_is_done_by_the_next_and_then_never_again(store):
    """SIGKILL leaves a lease that nobody holds; the record says how often the run was begun."""
    (job,) = jobs([0])
    manifest = write_listed(store, [job])
    killed = start(manifest, 0, store)
    os.kill(holder(store, job).process, signal.SIGKILL)
    killed.wait(60)
    # one that a server has forked does not end with who asked for it
    until(lambda: not workers(store, job), 120, "its worker goes on")
    assert store.find_record(job) is None
    assert_ended(start(manifest, 0, store), 0, "sb3-sac-InvertedPendulum-v4-smoke seed 0: finished")
    stored = store.find_record(job)
    assert stored["attempt"]["restarts"] == 1
    assert stored["memory"]["peak_mib"] > 0
    assert list_suffixes(store) == {".json"}
    before = store.locate_record(job).stat()
    assert_ended(start(manifest, 0, store), 0, "seed 0: done before")
    assert store.locate_record(job).stat() == before


@pytest.mark.parametrize(
    "number",
    every(6, [getattr(signal, f"SIG{name}")
              for name in ("TERM", "XCPU", "USR1", "HUP", "QUIT", "USR2")]),
)  # fmt: skip
def test_a_run_that_is_stopped_is_given_back(store, monkeypatch, number):
    """Exit code 75, its worker ends, and who comes next gets the run at once."""
    (job,) = jobs([0], ENDLESS)
    manifest = write_listed(store, [job])
    # shells ignore some signals in what they start in the background, and nohup does
    inherited = signal.signal(number, signal.SIG_DFL)
    if number not in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP) or inherited is signal.SIG_IGN:
        # Python itself: the server hands no others on, and ignores what it has inherited
        monkeypatch.undo()
    process = start(manifest, 0, store)
    signal.signal(number, inherited)
    attempt_holder = holder(store, job)
    worker = worker_of(store, job, attempt_holder)
    process.send_signal(number)
    assert_ended(process, 75, f"stopped by {number.name}; start it again")
    until(lambda: has_ended(worker), 30, "its worker goes on")
    assert store.read_lease_holder(job.name)[0].ended == f"stopped by {number.name}"
    assert not store.is_in_progress(job)
    # a checkpoint, if it had begun to train
    assert list_suffixes(store) - {".checkpoint"} == {".lease"}


@pytest.mark.nightly
def test_a_warning_that_is_ignored_at_the_start_is_heard_later(store):
    """Scripts for Slurm ignore it until the run listens, as it would end a process that starts."""
    (job,) = jobs([0], ENDLESS)
    command = shlex.join(run_one.build_command_of_run(write_listed(store, [job]), 0, store))
    process = begin(["bash", "-c", f"trap '' USR1; kill -USR1 $$; exec {command}"])
    holder(store, job)
    process.send_signal(signal.SIGUSR1)
    assert_ended(process, 75, "stopped by SIGUSR1; start it again")


@pytest.mark.parametrize(
    ("number", "is_present", "message"),
    [
        (errno.ENOSPC, True, "make room in {0}, or name another folder, then start it again"),
        (errno.ENOENT, False, "the folder {0} no longer exists: restore it, then start it"),
        (errno.EACCES, True, "see that you may write to {0}, or name another folder"),
        (errno.EIO, True, "see that {0} can be used"),
    ],
)
def test_an_error_of_a_run_has_advice(tmp_path, monkeypatch, number, is_present, message):
    """The advice fits the error: free room on a full disk, not for a store that has vanished."""
    store = Store(tmp_path / "runs")
    manifest = write_listed(Store(tmp_path / "elsewhere"), jobs([0]))

    def fail(*_, **__):
        raise OSError(number, os.strerror(number), str(store.folder / "x"))

    monkeypatch.setattr(worker_launch, "do_run_unless_recorded", fail)
    if is_present:
        store.folder.mkdir()
    with pytest.raises(UserError, match="could not be completed: ") as raised:
        run_one.do_one_run(manifest, 0, store, print)
    text = f"{os.strerror(number)} ({store.folder}/x); {message.format(store.folder)}"
    assert text in str(raised.value)


def test_paths_of_code_and_trust_are_passed_to_every_run(monkeypatch):
    """Tasks get the variables even if they do not get the environment of the launch."""
    monkeypatch.delenv(TRUST, raising=False)
    assert TRUST not in run_one.collect_variables_of_remote_process()
    monkeypatch.setenv(TRUST, "1")
    monkeypatch.setenv("PYTHONPATH", "tree:/lib:")
    variables = run_one.collect_variables_of_remote_process()
    assert variables[TRUST] == "1"
    assert variables["PYTHONPATH"] == f"{os.path.abspath('tree')}:/lib"


@pytest.mark.nightly
def test_an_attempt_whose_run_is_taken_over_stops(store, monkeypatch):
    """It sees at its next heartbeat that the lease is another's, and leaves that one alone."""
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.05)
    (job,) = jobs([0], ENDLESS)
    raised: list[worker_launch.Interrupted] = []

    def train() -> None:
        with pytest.raises(worker_launch.Interrupted) as caught:
            worker_launch.do_run_unless_recorded(job, store)
        raised.append(caught.value)

    thread = threading.Thread(target=train)
    thread.start()
    attempt_holder = holder(store, job)
    worker_of(store, job, attempt_holder)
    path = store.locate_record(job).with_suffix(".lease")
    other_holder = replace(attempt_holder, attempt="another", machine="elsewhere")
    other_lease = json.dumps(asdict(other_holder))
    path.with_suffix(".other").write_text(other_lease)
    path.with_suffix(".other").replace(path)
    thread.join(60)
    assert raised[0].is_superseded
    assert "ended by SIGKILL; another attempt took it over" in str(raised[0])
    assert path.read_text() == other_lease


@pytest.fixture
def do(store):
    """Return a function that gives the words of the command for a run."""

    def words(job):
        manifest = str(write_listed(store, [job]).path)
        where = ("--manifest", manifest, "--index", "0", "--store", str(store.folder))
        return ("runs", "run", *where)

    return words


def test_a_run_that_is_another_attempts_or_of_other_versions_is_not_done(store, command, do):
    """Exit code 75 at once, or a node names its other versions; no record is left."""
    (job,) = jobs([0])
    with store.claim_run(job):
        code, text, _ = command(*do(job))
    assert code == 75
    assert "is being done by another attempt; start" in text
    (job,) = jobs([0])
    changed_job = replace(job, versions={**job.versions, "numpy": "1.0"})
    code, _, error = command(*do(changed_job))
    assert (code, "Traceback" in error) == (2, False)
    assert re.search("needs other versions: found numpy .*, expected 1.0", error)
    assert store.find_record(changed_job) is None
    assert "other versions" in store.read_lease_holder(changed_job.name)[0].ended


@pytest.mark.nightly
def test_a_record_that_cannot_be_written_is_no_failed_run(store, monkeypatch):
    """A full disk is no error of the training: the run is not done, and it is said why."""
    (job,) = jobs([0])
    claim = Store.claim_run

    def without_folder(self, attempt_holder):
        attempt = claim(self, attempt_holder)
        attempt.record = attempt.folder / "gone" / "record.json"
        return attempt

    monkeypatch.setattr(Store, "claim_run", without_folder)
    text = "could not be written to .*: No such file .*; the folder .* no longer exists"
    with pytest.raises(UserError, match=text):
        worker_launch.do_run_unless_recorded(job, store)
    assert store.find_record(job) is None

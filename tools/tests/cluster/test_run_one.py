"""``rlregress runs run``: one run as one command, whatever happens to it."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import sys
import threading
import time
from dataclasses import asdict, replace

import pytest

from rlregress import frameworks
from rlregress.cluster import audit, run_one, store_status
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.inside.checkpoint import TRUST
from rlregress.training import job_plan, lease, worker_launch
from rlregress.training.cell import Cell, Job, Protocol
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
    if number not in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
        # Python itself: the server hands no others on
        monkeypatch.undo()
    (job,) = jobs([0], ENDLESS)
    process = start(write_listed(store, [job]), 0, store)
    attempt_holder = holder(store, job)
    worker = worker_of(store, job, attempt_holder)
    process.send_signal(number)
    assert_ended(process, 75, f"stopped by {number.name}; start it again")
    until(lambda: has_ended(worker), 30, "its worker goes on")
    assert store.read_lease_holder(job.name)[0].ended == f"stopped by {number.name}"
    assert not store.is_in_progress(job)
    # a checkpoint, if it had begun to train
    assert list_suffixes(store) - {".checkpoint"} == {".lease"}


#: a run of some seconds, with networks as small as they can be
MIDDLE = Protocol(1200, 400, 2)
SMALL = {"hidden_sizes": [8, 8], "minibatch_size": 8, "steps_per_collection": 4}


def plan_middle(seed: int) -> Job:
    """Return a run that can be stopped amid its training."""
    (job,) = jobs([seed], MIDDLE)
    return replace(job, hyperparameters={**job.hyperparameters, **SMALL})


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGKILL])
def test_a_run_that_is_stopped_is_continued(store, tmp_path, monkeypatch, number):
    """The next attempt goes on from the checkpoint, and comes to what one attempt comes to."""
    warm = sys.executable
    if number == signal.SIGKILL:
        # Python itself: what a server has forked does not end with who asked for it
        monkeypatch.undo()
    job = plan_middle(3)
    manifest = write_listed(store, [job])
    process = start(manifest, 0, store)
    attempt_holder = holder(store, job)
    worker = worker_of(store, job, attempt_holder)
    attempt = attempt_holder.attempt
    until(lambda: store.read_progress_of_attempt(job.name, attempt), 120, "it reports no progress")
    if number == signal.SIGKILL:
        # as every ten minutes
        os.kill(worker, signal.SIGUSR1)
        until(lambda: store.read_checkpoint_progress(job.name), 60, "it writes no checkpoint")
    process.send_signal(number)
    assert process.wait(60) == (75 if number != signal.SIGKILL else -signal.SIGKILL)
    until(lambda: has_ended(worker), 30, "its worker goes on")
    monkeypatch.setattr(sys, "executable", warm)
    assert store.find_record(job) is None
    progress = store.read_checkpoint_progress(job.name)
    assert 0 < progress.steps < progress.total_steps == 1200
    (surveyed,) = store_status.survey_store(store, [manifest]).attempts
    assert (surveyed.state, surveyed.share) == ("stopped", progress.steps / 1200)
    assert_ended(start(manifest, 0, store), 0, "seed 3: finished")
    stored = store.find_record(job)
    assert stored["attempt"]["restarts"] == 1
    assert stored["attempt"]["begun_anew"] == ""
    (continued,) = stored["attempt"]["continued"]
    assert (continued["steps"], continued["attempt"]) == (progress.steps, attempt)
    assert stored["time"]["wall_seconds"] > progress.wall_seconds
    assert list_suffixes(store) == {".json"}
    assert not audit.audit_store(store, None).notes
    never = worker_launch.do_run_unless_recorded(job, Store(tmp_path / "never"))
    assert run_record.select_result_of_run(stored) == run_record.select_result_of_run(never)


@pytest.mark.nightly
def test_a_run_that_cannot_be_continued_begins_anew_and_its_record_says_why(store):
    """The framework's own reason; there is no checkpoint."""
    trained = [a for a in frameworks.list_installed_adapters() if "sac" in a.framework.algorithms]
    adapter = next((a for a in trained if a.train.explain_no_resume()), None)
    if adapter is None:
        pytest.skip("every framework that is here can be continued")
    cell = Cell(adapter.name, "sac", "InvertedPendulum-v4", adapter.name, "smoke")
    job = replace(job_plan.plan_jobs_of_cell(cell, [0])[0], protocol=Protocol(120, 120, 1))
    manifest = write_listed(store, [job])
    killed = start(manifest, 0, store)
    attempt_holder = holder(store, job)
    worker = worker_of(store, job, attempt_holder)
    killed.terminate()
    assert killed.wait(60) == 75
    until(lambda: has_ended(worker), 30, "its worker goes on")
    assert list_suffixes(store) == {".lease"}
    assert_ended(start(manifest, 0, store), 0, "finished")
    stored = store.find_record(job)
    assert stored["attempt"]["restarts"] == 1
    assert stored["attempt"]["continued"] == []
    assert stored["attempt"]["begun_anew"] == adapter.train.explain_no_resume()


@pytest.mark.nightly
def test_a_warning_that_is_ignored_at_the_start_is_heard_later(store):
    """Scripts for Slurm ignore it until the run listens, as it would end a process that starts."""
    (job,) = jobs([0], ENDLESS)
    command = shlex.join(run_one.build_command_of_run(write_listed(store, [job]), 0, store))
    process = begin(["bash", "-c", f"trap '' USR1; kill -USR1 $$; exec {command}"])
    holder(store, job)
    process.send_signal(signal.SIGUSR1)
    assert_ended(process, 75, "stopped by SIGUSR1; start it again")


@pytest.mark.nightly
def test_a_run_whose_worker_is_killed_has_failed_to_be_done(store):
    """A killed worker is exit code 1 and leaves no record."""
    (job,) = jobs([0], ENDLESS)
    process = start(write_listed(store, [job]), 0, store)
    os.kill(worker_of(store, job, holder(store, job)), signal.SIGKILL)
    assert_ended(process, 1, "was ended by SIGKILL", "was it out of memory?")
    assert store.find_record(job) is None


@pytest.mark.parametrize(
    ("number", "is_present", "message"),
    [
        (errno.ENOSPC, True, "make room in {0}, or name another folder, then start it again"),
        (errno.EDQUOT, True, "make room in {0}"),
        (errno.ENOENT, False, "the folder {0} no longer exists: restore it, then start it"),
        (errno.ESTALE, False, "the folder {0} no longer exists"),
        (errno.EACCES, True, "see that you may write to {0}, or name another folder"),
        (errno.EROFS, True, "see that you may write to {0}"),
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
    assert ("make room" in str(raised.value)) == (number in (errno.ENOSPC, errno.EDQUOT))


def test_trust_is_passed_to_every_run(monkeypatch):
    """Tasks get the variable even if they do not get the environment of the launch."""
    monkeypatch.delenv(TRUST, raising=False)
    assert TRUST not in run_one.collect_variables_of_remote_process()
    monkeypatch.setenv(TRUST, "1")
    assert run_one.collect_variables_of_remote_process()[TRUST] == "1"


@pytest.mark.nightly
def test_two_attempts_that_overlap_leave_one_record(store):
    """One that was taken for dead wakes up: its result is the same, and the first one stays."""
    (job,) = jobs([0])
    manifest = write_listed(store, [job])
    frozen = start(manifest, 0, store)
    attempt_holder = holder(store, job)
    worker = worker_of(store, job, attempt_holder)
    os.kill(attempt_holder.process, signal.SIGSTOP)
    # as if it were on a node that cannot be reached
    path = store.locate_record(job).with_suffix(".lease")
    path.write_text(json.dumps(asdict(replace(attempt_holder, machine="elsewhere"))))
    os.utime(path, (1, time.time() - 2 * lease.STALE_SECONDS))
    assert_ended(start(manifest, 0, store), 0, "finished")
    first = store.locate_record(job).stat()
    until(lambda: has_ended(worker), 60, "its worker has not ended")
    os.kill(attempt_holder.process, signal.SIGCONT)
    assert_ended(frozen, 0, "finished")
    assert store.locate_record(job).stat() == first
    assert list_suffixes(store) == {".json"}


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


def test_a_run_that_another_attempt_does_is_left_to_it(store, command, do):
    """Exit code 75, in one sentence, at once."""
    (job,) = jobs([0])
    with store.claim_run(job):
        code, text, _ = command(*do(job))
    assert code == 75
    assert "is being done by another attempt; start" in text


def test_a_run_of_other_versions_is_not_done(store, command, do):
    """A node where something else is installed says what, and leaves no record."""
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

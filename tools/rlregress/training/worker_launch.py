"""Starts workers: one process and one core per run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlregress import frameworks, suite
from rlregress.errors import UserError
from rlregress.inside import checkpoint, child_environment, identity, process_tree, run_record
from rlregress.inside.worker import BEGUN, NOT_DONE, PORTABLE
from rlregress.training import recorded_runs
from rlregress.training.cell import Job
from rlregress.training.store import Attempt, Store

#: signals caused by a process's own code: a training that ends so has failed
_CRASHES = {
    -number
    for number in (
        signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS,
        signal.SIGTRAP,
    )
}  # fmt: skip
#: time for a stopped worker to write its checkpoint; Slurm warns 120 s before the end
_GRACE_SECONDS = 90.0
#: pause between two reads of a lease that another attempt holds: at first, and at most
_POLL_SECONDS = (0.02, 1.0)


class Interrupted(UserError):
    """The worker was ended from outside. There is no record, and the run counts as not done.

    Attributes:
        signal_number: the signal that ended it.
        is_superseded: whether another attempt has taken the run over.
    """

    def __init__(self, message: str, signal_number: int, is_superseded: bool) -> None:
        super().__init__(message)
        self.signal_number, self.is_superseded = signal_number, is_superseded


class NeverBegan(UserError):
    """The worker has ended before the training began; there is no record."""


class HeldElsewhere(UserError):
    """Another attempt does the run now."""


def make_worker_environment(pinned: bool = True, portable: bool = False) -> dict[str, str]:
    """Return a worker's environment variables: it imports the same modules as this process.

    Args:
        pinned: one thread for each library.
        portable: the same bits on every processor; see ``inside.arithmetic``.
    """
    variables = child_environment.make_environment_variables(pinned=pinned, portable=portable)
    # The worker imports this very library, installed or not, from the folder of this process. In an
    # environment of an upgrade that folder holds nothing else.
    library = str(Path(os.path.abspath(__file__)).parents[2])
    # a worker has another working directory and must import what this process imports
    paths = [os.path.abspath(path) for path in sys.path if not path.endswith(".zip")]
    variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, library]))
    return {**variables, **suite.make_safe_path_variable()}


def do_run_unless_recorded(
    job: Job, store: Store, pinned: bool = True, wait: bool = True
) -> dict[str, Any]:
    """Do the run of ``job`` unless its record exists. Return the record.

    Two processes that need the same run do it once: the second waits and reads. A run is recorded
    as failed only if its framework failed. There is no record if the worker was ended from outside,
    could not begin, or the machine failed.

    Args:
        wait: whether to wait for an attempt of another process.

    Raises:
        HeldElsewhere: another attempt does the run, and ``wait`` is false.
        Interrupted: the worker was ended from outside.
        UserError: the installed code is not that of the job, or no record could be written.
    """
    pause, max_pause = _POLL_SECONDS
    while (record := store.find_record(job)) is None:
        attempt = store.claim_run(job)
        if attempt is not None:
            with attempt:
                try:
                    # another attempt may have written it before this one took the lease
                    record = store.find_record(job)
                    if record is None:
                        store.set_aside_damaged_record(job)
                        _train_until_recorded(job, attempt, pinned)
                        store.put_record_of_attempt(
                            job, _read_record_and_add_attempt(attempt, job), attempt.id
                        )
                        record = store.find_record(job)
                finally:
                    # also if another attempt wrote the record
                    store.remove_checkpoint_of_recorded_run(job)
            break
        if not wait:
            raise HeldElsewhere(f"the run {job.title} is being done by another attempt")
        time.sleep(pause)
        pause = min(2 * pause, max_pause)
    if record is None:
        raise UserError(f"the run {job.title} left no readable record; start it again")
    return record


def _read_record_and_add_attempt(attempt: Attempt, job: Job) -> dict[str, Any]:
    """Return the record of an attempt, with how it began and whether it continued another."""
    _, content = recorded_runs.read_run_and_record(attempt.record)
    provenance = {"continued": [], "begun_anew": "", **content.get("attempt", {})}
    provenance["begun_anew"] = attempt.begun_anew or provenance["begun_anew"]
    details = attempt.convert_to_plain_data()
    if details["restarts"] and not provenance["continued"] and not provenance["begun_anew"]:
        adapter = frameworks.get_adapter(job.cell.framework)
        provenance["begun_anew"] = (
            adapter.train.explain_why_not_resumable() or "no attempt before it left a checkpoint"
        )
    return {**content, "attempt": {**details, **provenance}}


def check_installed_versions(job: Job) -> None:
    """Raise UserError if the installed versions are not those of the job."""
    installed = identity.map_package_versions(frameworks.get_adapter(job.cell.framework))
    differing = [
        f"{name} {installed.get(name, 'missing')}, expected {version}"
        for name, version in job.versions.items()
        if installed.get(name) != version
    ]
    if differing:
        text = f"the run {job.title} needs other versions: found {'; '.join(differing)}"
        raise UserError(f"{text}; install the expected ones")


def _train_until_recorded(job: Job, attempt: Attempt, pinned: bool) -> None:
    """Train ``job`` in worker processes until its record is in the folder of the attempt.

    A continued training that fails starts again: the checkpoint may be at fault.
    """
    check_installed_versions(job)
    checkpoint_path = attempt.checkpoint
    if not checkpoint_path.exists():
        _run_one_worker(job, attempt, pinned)
        return
    try:
        _run_one_worker(job, attempt, pinned)
        _, content = recorded_runs.read_run_and_record(attempt.record)
        if content["status"] != "failed":
            return
        failure = str(content["failure"])
    except NeverBegan as error:
        failure = str(error)
    reason = (failure.strip().splitlines() or ["?"])[-1]
    attempt.begun_anew = f"continued from its checkpoint it failed: {reason}"
    aside = (
        checkpoint.rename_unfit_checkpoint(checkpoint_path) if checkpoint_path.exists() else None
    )
    attempt.record.unlink(missing_ok=True)
    try:
        _run_one_worker(job, attempt, pinned)
    except NeverBegan:
        # the checkpoint was not at fault
        if aside is not None:
            aside.replace(checkpoint_path)
        raise


def _run_one_worker(job: Job, attempt: Attempt, pinned: bool) -> None:
    """Train ``job`` in one worker process, which writes its record to the attempt's folder."""
    attempt.record.with_suffix(BEGUN).unlink(missing_ok=True)
    content = {**job.convert_to_plain_data(), "key": job.key}
    run_record.write_text_atomically(attempt.job, json.dumps(content))
    module = "rlregress.inside.worker"
    files = (attempt.job, attempt.checkpoint, attempt.record)
    command = [sys.executable, "-m", module, *map(str, files)]
    with open(attempt.log, "wb") as log:
        process = subprocess.Popen(
            process_tree.make_supervised_command(command),
            env=make_worker_environment(pinned, portable=job.arithmetic == PORTABLE),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=attempt.folder,
        )
        # the new holder of the lease writes the record instead
        attempt.lease.on_lost = lambda: process_tree.kill_tree(process)
        try:
            code = process.wait()
        except BaseException:
            _stop_worker(process)
            raise
    if code < 0 and code not in _CRASHES:
        # a supervisor that is killed before it has begun ends with this signal
        signal_number = signal.SIGKILL if -code == process_tree.KILL_TREE else -code
        is_superseded = attempt.lease.is_lost
        name = (
            signal.Signals(signal_number).name
            if signal_number in set(signal.Signals)
            else f"signal {signal_number}"
        )
        explanation = (
            "another attempt took it over"
            if is_superseded
            else "it is not done and will be started again next time"
        )
        raise Interrupted(
            f"the run {job.title} was ended by {name}; {explanation}", signal_number, is_superseded
        )
    output = attempt.log.read_text(encoding="utf-8", errors="replace").strip()
    last_line = (output.splitlines() or ["it printed nothing"])[-1]
    if code == NOT_DONE:
        raise UserError(last_line)
    if code and not attempt.record.with_suffix(BEGUN).exists():
        raise NeverBegan(
            f"the training of {job.title} could not begin, its process ended with status {code}: "
            f"{last_line}; fix that and start the run again"
        )
    if code:
        run_record.write_record_with_checksum(
            attempt.record, _make_record_of_crash(job, code, output[-2000:])
        )


def _stop_worker(process: subprocess.Popen[bytes]) -> None:
    """Stop a worker, which may write a checkpoint first."""
    process.terminate()
    try:
        process.wait(_GRACE_SECONDS)
    except BaseException:
        process_tree.kill_tree(process)
        process.wait()


def _make_record_of_crash(job: Job, code: int, output: str) -> dict[str, Any]:
    return {
        "schema": run_record.SCHEMA,
        "job": {**job.convert_to_plain_data(), "key": job.key},
        "key": job.key,
        "status": "failed",
        "failure": f"the worker process ended with status {code}; its last output:\n{output}",
        "curve": [],
        "final_return": None,
        "episode_returns": [],
        "steps": 0,
        "parameters_sha256": None,
        "platform": {},
        "time": {},
    }


def do_runs_in_order(
    jobs: list[Job],
    store: Store,
    workers: int,
    on_done: Callable[[Job, dict[str, Any]], None],
    pinned: bool = True,
) -> None:
    """Do ``jobs`` in order, ``workers`` at a time; call ``on_done(job, record)`` after each."""
    pending = iter(jobs)
    lock = threading.Lock()
    errors: list[BaseException] = []

    def do_next_runs() -> None:
        while not errors:
            with lock:
                job = next(pending, None)
            if job is None:
                return
            try:
                record = do_run_unless_recorded(job, store, pinned)
                with lock:
                    on_done(job, record)
            except BaseException as error:
                errors.append(error)
                return

    # daemons: nothing continues after this process is interrupted
    threads = [threading.Thread(target=do_next_runs, daemon=True) for _ in range(max(workers, 1))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:
        # an interrupt also ends the trainings; it is reported first
        errors.insert(0, error)
    if errors:
        raise errors[0]

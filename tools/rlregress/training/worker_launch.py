"""Start workers: one process and one core per run."""

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

#: what a process gets for what its own code does: a training that ends so has failed.
_CRASHES = {
    -number
    for number in (
        signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS,
        signal.SIGTRAP,
    )
}  # fmt: skip
#: in which a worker that was told to stop writes its checkpoint; Slurm warns 120 s before the end.
_GRACE_SECONDS = 90.0
#: between two looks at a lease that another attempt holds, at first and at most.
_POLL_SECONDS = (0.02, 1.0)


class Interrupted(UserError):
    """The worker was ended from outside; there is no record and the run counts as not done.

    Attributes:
        by: the signal that ended it.
        superseded: another attempt has taken the run over.
    """

    def __init__(self, message: str, by: int, superseded: bool) -> None:
        super().__init__(message)
        self.by, self.superseded = by, superseded


class _NotBegun(UserError):
    """The worker has ended before the training began; there is no record."""


class Held(UserError):
    """Another attempt does the run now."""


def environment(pinned: bool = True, portable: bool = False) -> dict[str, str]:
    """Return the variables of a worker, which imports what this process imports.

    Args:
        pinned: one thread for each library.
        portable: the same bits on every processor; see ``inside.arithmetic``.
    """
    made = child_environment.make_environment(pinned=pinned, portable=portable)
    # the worker imports this very library, also where it is not installed, from
    # the folder that this process has it from: on a side of an upgrade it holds nothing else
    library = str(Path(os.path.abspath(__file__)).parents[2])
    # a worker has another working directory and must import what this process imports
    paths = [os.path.abspath(path) for path in sys.path if not path.endswith(".zip")]
    made["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, library]))
    return {**made, **suite.safe_path()}


def run(job: Job, store: Store, pinned: bool = True, wait: bool = True) -> dict[str, Any]:
    """Do the run of ``job`` unless its record exists; returns the record.

    Two processes that want the same run do it once: the second waits and reads. A failed run is
    one whose framework failed: of a worker that is ended from outside, or that cannot begin, or
    that the machine fails, there is no record.

    Args:
        wait: for an attempt of another process.

    Raises:
        Held: there is one, and it is not to be waited for.
        Interrupted: the worker was ended from outside.
        UserError: the code that is here is not that of the job; no record could be written.
    """
    pause, longest = _POLL_SECONDS
    while (stored := store.find(job)) is None:
        attempt = store.claim(job)
        if attempt is not None:
            with attempt:
                try:
                    stored = store.find(job)
                    if stored is None:
                        store.set_aside(job)
                        _train(job, attempt, pinned)
                        store.put(job, _sealed_by(attempt, job), attempt.id)
                        stored = store.find(job)
                finally:
                    # also if another attempt has made the record
                    store.drop_checkpoint(job)
            break
        if not wait:
            raise Held(f"the run {job.title} is being done by another attempt")
        time.sleep(pause)
        pause = min(2 * pause, longest)
    if stored is None:
        raise UserError(f"the run {job.title} left no readable record")
    return stored


def _sealed_by(attempt: Attempt, job: Job) -> dict[str, Any]:
    _, content = recorded_runs.read(attempt.record)
    came_about = {"continued": [], "begun_anew": "", **content.get("attempt", {})}
    came_about["begun_anew"] = attempt.begun_anew or came_about["begun_anew"]
    of = attempt.as_dict()
    if of["restarts"] and not came_about["continued"] and not came_about["begun_anew"]:
        adapter = frameworks.get(job.cell.framework)
        came_about["begun_anew"] = (
            adapter.train.no_resume_reason() or "no attempt before it left a checkpoint"
        )
    return {**content, "attempt": {**of, **came_about}}


def check_versions(job: Job) -> None:
    """UserError if other versions are installed here than those that the job is about."""
    here = identity.versions(frameworks.get(job.cell.framework))
    other = [
        f"{name} {here.get(name, 'missing')}, expected {version}"
        for name, version in job.versions.items()
        if here.get(name) != version
    ]
    if other:
        raise UserError(f"the run {job.title} is about other versions: found {'; '.join(other)}")


def _train(job: Job, attempt: Attempt, pinned: bool) -> None:
    """Have workers write the record of ``job`` to the folder of the attempt.

    A training that fails after it was continued is begun anew: the fault may be the checkpoint's.
    """
    check_versions(job)
    kept = attempt.checkpoint
    if not kept.exists():
        _work(job, attempt, pinned)
        return
    try:
        _work(job, attempt, pinned)
        _, content = recorded_runs.read(attempt.record)
        if content["status"] != "failed":
            return
        failure = str(content["failure"])
    except _NotBegun as error:
        failure = str(error)
    reason = (failure.strip().splitlines() or ["?"])[-1]
    attempt.begun_anew = f"continued from its checkpoint it failed: {reason}"
    aside = checkpoint.set_aside(kept) if kept.exists() else None
    attempt.record.unlink(missing_ok=True)
    try:
        _work(job, attempt, pinned)
    except _NotBegun:
        # it was not the checkpoint
        if aside is not None:
            aside.replace(kept)
        raise


def _work(job: Job, attempt: Attempt, pinned: bool) -> None:
    """Have one worker write the record of ``job`` to the folder of the attempt."""
    attempt.record.with_suffix(BEGUN).unlink(missing_ok=True)
    run_record.write_atomically(attempt.job, json.dumps({**job.as_dict(), "key": job.key}))
    module = "rlregress.inside.worker"
    files = (attempt.job, attempt.checkpoint, attempt.record)
    command = [sys.executable, "-m", module, *map(str, files)]
    with open(attempt.log, "wb") as log:
        process = subprocess.Popen(
            process_tree.supervised(command),
            env=environment(pinned, portable=job.arithmetic == PORTABLE),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=attempt.folder,
        )
        # what it would write now is for whoever has the run to write
        attempt.lease.on_lost = lambda: process_tree.kill_tree(process)
        try:
            code = process.wait()
        except BaseException:
            _stop(process)
            raise
    if code < 0 and code not in _CRASHES:
        # the supervisor dies of it that is killed before it has begun
        by = signal.SIGKILL if -code == process_tree.KILL_TREE else -code
        superseded = attempt.lease.lost
        name = signal.Signals(by).name if by in set(signal.Signals) else f"signal {by}"
        why = (
            "another attempt took it over"
            if superseded
            else "it is not done and will be started again next time"
        )
        raise Interrupted(f"the run {job.title} was ended by {name}; {why}", by, superseded)
    output = attempt.log.read_text(encoding="utf-8", errors="replace").strip()
    last = (output.splitlines() or ["it said nothing"])[-1]
    if code == NOT_DONE:
        raise UserError(last)
    if code and not attempt.record.with_suffix(BEGUN).exists():
        raise _NotBegun(
            f"the training of {job.title} could not begin, its process ended with status {code}: "
            f"{last}; mend what it names and start the run again"
        )
    if code:
        run_record.write(attempt.record, _crashed(job, code, output[-2000:]))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a worker, which may write a checkpoint first."""
    process.terminate()
    try:
        process.wait(_GRACE_SECONDS)
    except BaseException:
        process_tree.kill_tree(process)
        process.wait()


def _crashed(job: Job, code: int, output: str) -> dict[str, Any]:
    return {
        "schema": run_record.SCHEMA,
        "job": {**job.as_dict(), "key": job.key},
        "key": job.key,
        "status": "failed",
        "failure": f"the worker process ended with status {code}; its last words:\n{output}",
        "curve": [],
        "final_return": None,
        "episode_returns": [],
        "steps": 0,
        "parameters_sha256": None,
        "platform": {},
        "time": {},
    }


def run_all(
    jobs: list[Job],
    store: Store,
    workers: int,
    on_done: Callable[[Job, dict[str, Any]], None],
    pinned: bool = True,
) -> None:
    """Do ``jobs`` in their order, ``workers`` at a time; ``on_done(job, record)`` after each."""
    pending = iter(jobs)
    lock = threading.Lock()
    errors: list[BaseException] = []

    def work() -> None:
        while not errors:
            with lock:
                job = next(pending, None)
            if job is None:
                return
            try:
                stored = run(job, store, pinned)
                with lock:
                    on_done(job, stored)
            except BaseException as error:
                errors.append(error)
                return

    # daemons: when this process is interrupted, nothing goes on without it
    threads = [threading.Thread(target=work, daemon=True) for _ in range(max(workers, 1))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:
        # an interrupt, which ends the trainings too: it is what is reported
        errors.insert(0, error)
    if errors:
        raise errors[0]

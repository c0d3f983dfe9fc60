"""Start workers: one process and one core per run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.training import record
from rlregress.training.cell import Job
from rlregress.training.store import Store
from rlregress.training.worker import OTHER_CODE

#: the numerical libraries read these once, when they are loaded
_THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class Interrupted(UserError):
    """The worker was ended from outside; there is no record and the run counts as not done."""


def environment(pinned: bool = True) -> dict[str, str]:
    """The environment of a worker: this one, with one thread per process if ``pinned``."""
    # nothing of a pytest that this process may be part of
    made = {
        name: value
        for name, value in os.environ.items()
        if name not in _THREAD_LIMITS and not name.startswith("PYTEST_")
    }
    if pinned:
        made.update(dict.fromkeys(_THREAD_LIMITS, "1"))
    # the worker imports this very library, also where it is not installed
    library = str(Path(__file__).resolve().parents[2])
    # a worker has another working directory and must import what this process imports
    paths = [os.path.abspath(path) for path in sys.path if not path.endswith(".zip")]
    made["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, library]))
    return made


def run(job: Job, store: Store, pinned: bool = True) -> dict[str, Any]:
    """Do the run of ``job`` unless its record exists; returns the record.

    Two processes that want the same run do it once: the second waits and reads. A worker that
    dies by itself leaves a failed record; one that is ended from outside leaves none.
    """
    with store.lock(job):
        stored = store.find(job)
        if stored is None:
            store.set_aside(job)
            _train(job, store, pinned)
            stored = store.find(job)
    if stored is None:
        raise UserError(f"the run {job.cell.id} seed {job.seed} left no readable record")
    return stored


def _train(job: Job, store: Store, pinned: bool) -> None:
    path = store.path(job)
    job_path = path.with_suffix(".job")
    log_path = path.with_suffix(".log")
    record.write_atomically(job_path, json.dumps({**job.as_dict(), "key": job.key}))
    command = [sys.executable, "-m", "rlregress.training.worker", str(job_path), str(path)]
    with open(log_path, "wb") as log:
        process = subprocess.Popen(
            command,
            env=environment(pinned),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=path.parent,
        )
        try:
            code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if code == OTHER_CODE:
        said = log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1]
        raise UserError(said)
    if code in (-signal.SIGTERM, -signal.SIGINT, -signal.SIGKILL):
        raise Interrupted(
            f"the run {job.cell.id} seed {job.seed} was ended by {signal.Signals(-code).name}; "
            "it is not done and will be started again next time"
        )
    if code != 0:
        end = log_path.read_text(encoding="utf-8", errors="replace")[-2000:]
        record.write(path, _crashed(job, code, end))
    for leftover in (job_path, log_path, path.with_suffix(".progress")):
        leftover.unlink(missing_ok=True)


def _crashed(job: Job, code: int, output: str) -> dict[str, Any]:
    return {
        "schema": record.SCHEMA,
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

"""One run as one command, for the nodes of a cluster under any scheduler."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from rlregress import files, frameworks
from rlregress.cluster.manifest import Manifest
from rlregress.errors import UserError
from rlregress.inside.checkpoint import STOPPING, TRUST
from rlregress.training import worker_launch
from rlregress.training.store import Store

#: exit code of a run that was stopped and is done again: EX_TEMPFAIL of sysexits.h
RESUMABLE = 75
#: time for Slurm to end a task after it was requeued
_PATIENCE_SECONDS = 300.0
#: time limit for answers of Slurm
SLURM_TIMEOUT_SECONDS = 20
_WARNING = signal.SIGUSR1
#: signals by which users, schedulers and limits end a process, as opposed to its own code
EXTERNAL_SIGNALS = (_WARNING, *STOPPING, signal.SIGXFSZ, signal.SIGKILL)


class Stopped(BaseException):
    """Raised when a signal stops this process."""


@contextmanager
def _collect_stop_signals() -> Iterator[list[signal.Signals]]:
    """Collect the signals that stop this process; the first raises ``Stopped``."""
    received: list[signal.Signals] = []

    def handle_signal(number: int, _: FrameType | None) -> None:
        received.append(signal.Signals(number))
        # further signals must not disturb the clean-up after the first
        if len(received) == 1:
            raise Stopped(f"stopped by {received[0].name}")

    # background shells ignore some signals; our scripts ignore a warning that comes too early
    handled_signals = [
        n
        for n in (_WARNING, *STOPPING)
        if n is _WARNING or signal.getsignal(n) is not signal.SIG_IGN
    ]
    previous_handlers = {number: signal.signal(number, handle_signal) for number in handled_signals}
    try:
        yield received
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


def build_command_of_run(manifest: Manifest, index: int | str, store: Store) -> list[str]:
    """Return the command that does one run."""
    return [
        *(sys.executable, "-m", "rlregress", "runs", "run", "--manifest", str(manifest.path)),
        *("--index", str(index), "--store", str(store.folder)),
    ]


def format_shell_command_of_run(manifest: Manifest, index: str, store: Store) -> str:
    """Return the command that does one run, quoted for a shell that evaluates ``index``."""
    *start_of_command, _, option, folder = build_command_of_run(manifest, index, store)
    return f"{shlex.join(start_of_command)} {index} {shlex.join([option, folder])}"


def collect_variables_of_remote_process() -> Mapping[str, str]:
    """Return the environment variables that a remote process needs: paths of code, and trust."""
    values = {}
    if os.environ.get("PYTHONPATH"):
        paths = os.environ["PYTHONPATH"].split(os.pathsep)
        values["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in paths if path)
    for adapter in frameworks.list_adapters():
        if adapter.framework.checkout and adapter.framework.checkout in os.environ:
            values[adapter.framework.checkout] = os.environ[adapter.framework.checkout]
    if os.environ.get(TRUST):
        values[TRUST] = os.environ[TRUST]
    return values


def do_one_run(manifest: Manifest, index: int, store: Store, report: Callable[[str], None]) -> int:
    """Do one run of a manifest unless it is done. Return the exit code.

    0: the run is done, even if its training ended in an error. ``RESUMABLE``: this process was
    stopped, or another attempt does the run. 1: its worker was killed.

    Raises:
        UserError: the manifest is damaged, other code is installed here, or nothing can be written.
    """
    job = manifest.read_job_at(index)
    name = job.title
    with _collect_stop_signals() as received:
        try:
            if store.find_record(job) is not None:
                # left by an attempt that was killed right after storing the record
                store.remove_checkpoint_of_recorded_run(job)
                report(f"{name}: done before")
                return 0
            report(f"{name}: run {index} of {manifest.path} on {os.uname().nodename}")
            record = worker_launch.do_run_unless_recorded(job, store, wait=False)
        except worker_launch.HeldElsewhere as error:
            report(f"{error}; start it again when that has ended")
            return RESUMABLE
        except Stopped as error:
            return _requeue_stopped_run(f"{name}: {error}", received, report)
        except worker_launch.Interrupted as error:
            # a signal that the scheduler sends to all processes reaches the worker too
            if received or error.is_superseded or error.signal_number != signal.SIGKILL:
                return _requeue_stopped_run(f"{name}: {error}", received, report)
            report(f"{error}; was it out of memory?")
            return 1
        except OSError as error:
            raise UserError(
                f"run {name} could not be completed: {error.strerror or error} ({error.filename}); "
                f"{files.suggest_remedy_of_os_error(error, store.folder)}, then start it again"
            ) from None
        report(f"{name}: {record['status']}, return {record['final_return']}")
    return 0


def _get_slurm_task_id() -> str:
    """Return Slurm's id of this task; empty without Slurm."""
    # the last task of an array shares its number with the array
    array, index = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{index}" if array else os.environ.get("SLURM_JOB_ID", "")


def _requeue_stopped_run(
    message: str, received: list[signal.Signals], report: Callable[[str], None]
) -> int:
    """Requeue the task in Slurm if its warning stopped the run."""
    report(f"{message}; start it again")
    task = _get_slurm_task_id()
    if task and _WARNING in received and signal.SIGTERM not in received:
        try:
            completed = subprocess.run(
                ["scontrol", "requeue", task],
                capture_output=True,
                errors="replace",
                check=False,
                timeout=SLURM_TIMEOUT_SECONDS,
            )
            failure = completed.stderr.strip() if completed.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            failure = str(error)
        if failure:
            report(f"Slurm does not start task {task} again: {failure}")
            return RESUMABLE
        # a task that ends before Slurm ends it counts as failed and is not requeued
        end = time.monotonic() + _PATIENCE_SECONDS
        while signal.SIGTERM not in received and time.monotonic() < end:
            time.sleep(0.2)
    return RESUMABLE

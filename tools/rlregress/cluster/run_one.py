"""One run as one command: what a node of a cluster is asked to do, by whatever scheduler."""

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
#: what Slurm is given to end a task that it was asked to start again
_PATIENCE_SECONDS = 300.0
#: in which Slurm answers, or does not
ANSWERS_IN_SECONDS = 20
_WARNING = signal.SIGUSR1
#: what people, schedulers and limits end a process with; what its own code does is not among them
FROM_OUTSIDE = (_WARNING, *STOPPING, signal.SIGXFSZ, signal.SIGKILL)


class Stopped(BaseException):
    """This process was told to stop."""


@contextmanager
def _stop_signals() -> Iterator[list[signal.Signals]]:
    """The signals that tell this process to stop; the first of them raises ``Stopped``."""
    got: list[signal.Signals] = []

    def handle(number: int, _: FrameType | None) -> None:
        got.append(signal.Signals(number))
        # what is tidied up after the first is not disturbed by another
        if len(got) == 1:
            raise Stopped(f"stopped by {got[0].name}")

    # a shell's background has its processes ignore some; scripts of ours, a warning that is early
    listened = [
        n
        for n in (_WARNING, *STOPPING)
        if n is _WARNING or signal.getsignal(n) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, handle) for number in listened}
    try:
        yield got
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def command(manifest: Manifest, index: int | str, store: Store) -> list[str]:
    """The command that does one run, for whoever starts it."""
    return [
        *(sys.executable, "-m", "rlregress", "runs", "run", "--manifest", str(manifest.path)),
        *("--index", str(index), "--store", str(store.folder)),
    ]


def in_shell(manifest: Manifest, index: str, store: Store) -> str:
    """The same for a shell, which evaluates ``index``."""
    *before, _, option, folder = command(manifest, index, store)
    return f"{shlex.join(before)} {index} {shlex.join([option, folder])}"


def variables() -> Mapping[str, str]:
    """This one's environment, as far as a process elsewhere needs it: where code is, and trust."""
    values = {}
    if os.environ.get("PYTHONPATH"):
        paths = os.environ["PYTHONPATH"].split(os.pathsep)
        values["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in paths if path)
    for adapter in map(frameworks.get, frameworks.names()):
        if adapter.checkout and adapter.checkout in os.environ:
            values[adapter.checkout] = os.environ[adapter.checkout]
    if os.environ.get(TRUST):
        values[TRUST] = os.environ[TRUST]
    return values


def do(manifest: Manifest, index: int, store: Store, say: Callable[[str], None]) -> int:
    """Do one run of a manifest unless it is done; the exit code.

    0: it is done, also if its training ended in an error, which is a result. ``RESUMABLE``: this
    process was stopped, or another attempt does the run. 1: its worker was killed.

    Raises:
        UserError: the manifest is damaged, other code is installed here, or nothing can be written.
    """
    job = manifest.job(index)
    name = job.title
    with _stop_signals() as got:
        try:
            if store.find_record(job) is not None:
                # of an attempt that was killed when it had put the record in its place
                store.drop_checkpoint(job)
                say(f"{name}: done before")
                return 0
            say(f"{name}: run {index} of {manifest.path} on {os.uname().nodename}")
            found = worker_launch.do_run(job, store, wait=False)
        except worker_launch.HeldElsewhere as error:
            say(f"{error}; start it again when that has ended")
            return RESUMABLE
        except Stopped as error:
            return _stopped(f"{name}: {error}", got, say)
        except worker_launch.Interrupted as error:
            # a signal that the scheduler sends to all processes reaches the worker too
            if got or error.is_superseded or error.signal_number != signal.SIGKILL:
                return _stopped(f"{name}: {error}", got, say)
            say(f"{error}; was it out of memory?")
            return 1
        except OSError as error:
            raise UserError(
                f"the run {name} is not done: {error.strerror or error} ({error.filename}); "
                f"{files.remedy(error, store.folder)}, and start it again"
            ) from None
        say(f"{name}: {found['status']}, return {found['final_return']}")
    return 0


def _task() -> str:
    """What Slurm calls this task; empty where there is no Slurm."""
    # one task of an array has the number of the whole array as its own
    array, index = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{index}" if array else os.environ.get("SLURM_JOB_ID", "")


def _stopped(message: str, got: list[signal.Signals], say: Callable[[str], None]) -> int:
    """Ask Slurm for another turn if its warning was what stopped the run."""
    say(f"{message}; start it again")
    task = _task()
    if task and _WARNING in got and signal.SIGTERM not in got:
        try:
            ended = subprocess.run(
                ["scontrol", "requeue", task],
                capture_output=True,
                errors="replace",
                check=False,
                timeout=ANSWERS_IN_SECONDS,
            )
            failure = ended.stderr.strip() if ended.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            failure = str(error)
        if failure:
            say(f"Slurm does not start task {task} again: {failure}")
            return RESUMABLE
        # a task that ends by itself before Slurm ends it counts as failed, and is not started again
        end = time.monotonic() + _PATIENCE_SECONDS
        while signal.SIGTERM not in got and time.monotonic() < end:
            time.sleep(0.2)
    return RESUMABLE

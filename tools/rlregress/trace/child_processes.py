"""Starts processes of recordings and probes, which end with the command or at its deadline."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile, gettempdir

from rlregress.errors import UserError
from rlregress.inside import process_tree
from rlregress.model.differences import MINUTES

_RUNNING: set[subprocess.Popen[str]] = set()


class OutOfTime(UserError):
    """The time limit of the command is over."""


class Deadline:
    """The time limit of a command: all processes that it has started are ended then.

    Attributes:
        minutes: limit of the command; 0: there is none.
        at: time of the limit, in seconds since the epoch; infinite: there is none.
        cut: descriptions of the tasks that were skipped because of the limit.
    """

    def __init__(self, minutes: float = 0.0, start_time: float = 0.0) -> None:
        self.minutes = minutes
        self.at = start_time + 60 * minutes if minutes else float("inf")
        self.cut: list[str] = []

    @property
    def reason(self) -> str:
        """The reason why something was not checked: the limit was reached."""
        return f"{MINUTES} {self.minutes:g} were over"


_deadline = Deadline()
#: time at which the present stage of the command ends; see ``limit_stage``.
_stage_end = ContextVar("_stage_end", default=float("inf"))


@contextmanager
def limit_processes(deadline: Deadline) -> Iterator[None]:
    """Set a deadline for processes of the block: then all are ended, and no other starts."""
    global _deadline
    before, _deadline = _deadline, deadline
    try:
        yield
    finally:
        _deadline = before


@contextmanager
def limit_stage(end_time: float) -> Iterator[None]:
    """Set the time at which jobs of the block end, in place of that of a block around it.

    A thread has the limit of the context that it runs in, see ``contextvars``.
    """
    token = _stage_end.set(end_time)
    try:
        yield
    finally:
        _stage_end.reset(token)


def find_end_time() -> float:
    """Return the time at which the present stage ends, or the command if that is earlier."""
    return min(_stage_end.get(), _deadline.at)


def is_time_over() -> bool:
    """Return whether the time of the command, or of its present stage, is over."""
    return time.time() >= find_end_time()


def raise_if_time_is_over() -> None:
    """Raise OutOfTime if the time of the command, or of its present stage, is over."""
    if is_time_over():
        raise OutOfTime(_deadline.reason)


def note_skipped_task(task: str) -> str:
    """Note a task that is skipped because time is over. Return the reason."""
    if task not in _deadline.cut:
        _deadline.cut.append(task)
    return _deadline.reason


def was_anything_skipped() -> bool:
    """Return whether anything was skipped because time is over."""
    return bool(_deadline.cut)


@contextmanager
def _kill_process_at(process: subprocess.Popen[str], end_time: float) -> Iterator[None]:
    """Kill a process when time is over, unless the block has ended before."""
    seconds = min(end_time - time.time(), threading.TIMEOUT_MAX)
    limit = threading.Timer(seconds, process_tree.kill_tree, [process])
    limit.daemon = True
    limit.start()
    try:
        yield
    finally:
        limit.cancel()


@contextmanager
def _start_process(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | str | None,
    stdout: int,
    stderr: int,
    standard_input: int = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[str]]:
    """Start a process that is ended with the block, with this process, or with the command.

    Raises:
        OutOfTime: the time of the command is over before it starts.
    """
    if time.time() >= _deadline.at:
        raise OutOfTime(_deadline.reason)
    with subprocess.Popen(
        process_tree.make_supervised_command(command),
        env=dict(environment),
        cwd=folder,
        stdin=standard_input,
        stdout=stdout,
        stderr=stderr,
        text=True,
        errors="replace",
    ) as process:
        _RUNNING.add(process)
        try:
            # it may serve several stages
            with _kill_process_at(process, _deadline.at):
                yield process
        finally:
            _RUNNING.discard(process)
            if process.poll() is None:
                process_tree.kill_tree(process)


def run_command(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | str | None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and return its output.

    Raises:
        OutOfTime: time was over before.
    """
    # not pipes: a recorder reads again what its training has printed
    with (
        TemporaryFile("w+", encoding="utf-8", errors="replace") as printed,
        TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
    ):
        files = printed.fileno(), errors.fileno()
        with _start_process(command, environment, folder, *files) as process:
            process.wait()
        for file in (printed, errors):
            file.seek(0)
        out, error = printed.read(), errors.read()
    if process.returncode and time.time() >= _deadline.at:
        raise OutOfTime(_deadline.reason)
    return subprocess.CompletedProcess(command, process.returncode, out, error)


def extract_last_message(stderr: str) -> str:
    """Return the last message of a process; for a traceback, the whole error message."""
    lines = stderr.strip().splitlines() or ["it printed no message"]
    frames = [n for n, line in enumerate(lines) if line.startswith('  File "')]
    below = [line for line in lines[frames[-1] :] if not line.startswith(" ")] if frames else []
    return (below or lines[-1:])[0].strip()


def end_all_processes() -> None:
    """End all processes that this module has started."""
    for process in list(_RUNNING):
        process_tree.kill_tree(process)


class Worker:
    """A process that does the jobs of one file after the other, and prints a line after each job.

    Attributes:
        is_ready: whether it can take another file.

    Raises:
        OutOfTime: time is over before it starts.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._stack = ExitStack()
        errors = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._errors = self._stack.enter_context(errors)
        streams = subprocess.PIPE, errors.fileno(), subprocess.PIPE
        # not in the current folder, from which a package of the same name might be imported
        started = _start_process(command, environment, gettempdir(), *streams)
        self._process = self._stack.enter_context(started)
        self.is_ready = True

    def do_jobs(self, job_file: Path, job_count: int, on_line: Callable[[str], None]) -> str:
        """Do the jobs of a file until time is over; call ``on_line`` with each printed line.

        Args:
            job_count: number of the jobs in the file.

        Returns:
            How the process ended; empty: it did all jobs.
        """
        process, done, self.is_ready = self._process, 0, False
        assert process.stdin is not None
        assert process.stdout is not None
        with _kill_process_at(process, find_end_time()):
            with suppress(BrokenPipeError):
                print(job_file, file=process.stdin, flush=True)
            for printed in islice(process.stdout, job_count):
                on_line(printed.rstrip("\n"))
                done += 1
        # not if the time is over: then the process may be killed at any moment
        self.is_ready = done == job_count and not is_time_over()
        if done == job_count:
            return ""
        status = process.wait()
        self._errors.seek(0)
        return (
            f"the process ended with status {status}: {extract_last_message(self._errors.read())}"
        )

    def close(self) -> None:
        # closing writes what is left in the pipe to a process that may have ended
        with suppress(BrokenPipeError):
            self._stack.close()

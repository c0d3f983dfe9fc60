"""Runs of a manifest on this machine: a number of processes at a time, one run each."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from rlregress.cluster import run_one
from rlregress.cluster.manifest import Manifest, ManifestRun
from rlregress.inside.process_tree import end_process_with_parent
from rlregress.training import worker_launch
from rlregress.training.store import Store

_POLL_SECONDS = 0.1
#: pause before retrying runs that another attempt held: by then it may have ended
_PAUSE_SECONDS = 2.0


#: exit codes of a process that was ended from outside
_EXTERNAL_EXIT_CODES = {
    code for number in run_one.EXTERNAL_SIGNALS for code in (-number, 128 + number)
}


@dataclass
class Counts:
    """Numbers of runs by how they ended.

    Attributes:
        done: runs with a record.
        unfinished: runs that were stopped from outside, or that another attempt does.
        failed: runs that could not be done.
    """

    done: int = 0
    unfinished: int = 0
    failed: int = 0


def run_on_this_machine(
    manifest: Manifest,
    runs: Sequence[ManifestRun],
    store: Store,
    workers: int,
    on_end: Callable[[Counts], None],
) -> Counts:
    """Do runs in order, ``workers`` at a time; their processes end with this one.

    Args:
        on_end: called after each run.
    """
    waiting, held_elsewhere, counts = deque(runs), deque[ManifestRun](), Counts()
    started: dict[subprocess.Popen[bytes], ManifestRun] = {}
    environment = worker_launch.make_worker_environment()
    try:
        while waiting or started or held_elsewhere:
            if not (waiting or started):
                # at last, retry the runs that another attempt held
                waiting, held_elsewhere = held_elsewhere, deque(maxlen=0)
                time.sleep(_PAUSE_SECONDS)
            while waiting and len(started) < workers:
                run = waiting.popleft()
                started[
                    _start_process_ending_with_this(
                        run_one.build_command_of_run(manifest, run.number, store), environment
                    )
                ] = run
            # all are polled: waiting for one process would delay the successors of the others
            time.sleep(_POLL_SECONDS)
            for process in [process for process in started if process.poll() is not None]:
                run, code = started.pop(process), process.returncode
                # a deque of length 0 marks the second round: no run is tried a third time
                if code == run_one.RESUMABLE and held_elsewhere.maxlen is None:
                    held_elsewhere.append(run)
                    continue
                is_unfinished = code == run_one.RESUMABLE or code in _EXTERNAL_EXIT_CODES
                counts.done += code == 0
                counts.unfinished += is_unfinished
                counts.failed += not (code == 0 or is_unfinished)
                on_end(counts)
    finally:
        # all get the signal before any is awaited, so that they write checkpoints in parallel
        for process in started:
            with suppress(ProcessLookupError):
                process.terminate()
        for process in started:
            process.wait()
    return counts


def _start_process_ending_with_this(
    command: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one."""
    with _delay_signals(run_one.EXTERNAL_SIGNALS):
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            # another thread of this process does no more than touch a lease
            preexec_fn=partial(end_process_with_parent, parent=os.getpid()),
        )


@contextmanager
def _delay_signals(signals: Iterable[signal.Signals]) -> Iterator[None]:
    """Delay the handling of signals until the end of the block.

    Python runs hooks around a fork and ignores exceptions that a handler raises in one of them.
    """
    received: list[int] = []
    handled = [number for number in signals if callable(signal.getsignal(number))]
    before = {number: signal.signal(number, lambda n, _: received.append(n)) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for signal_ in received:
            signal.raise_signal(signal_)

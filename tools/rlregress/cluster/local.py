"""Runs of a manifest on this machine: so many processes at a time, each of them one run."""

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
from rlregress.inside.process_tree import end_with_parent
from rlregress.training import worker_launch
from rlregress.training.store import Store

_POLL_SECONDS = 0.1
#: before a run is asked for again that another attempt held: one that is ending has ended then.
_PAUSE_SECONDS = 2.0


#: exit codes of a process that was ended from outside, by itself or by the signal.
_ENDED = {code for number in run_one.FROM_OUTSIDE for code in (-number, 128 + number)}


@dataclass
class Counts:
    """How runs have ended.

    Attributes:
        done: they have a record.
        left: they were stopped, from outside, or another attempt does them.
        failed: they could not be done.
    """

    done: int = 0
    left: int = 0
    failed: int = 0


def run_all(
    manifest: Manifest,
    runs: Sequence[ManifestRun],
    store: Store,
    workers: int,
    on_end: Callable[[Counts], None],
) -> Counts:
    """Do runs in their order, ``workers`` at a time; what is started ends with this process.

    Args:
        on_end: called after each run.
    """
    waiting, held, counts = deque(runs), deque[ManifestRun](), Counts()
    started: dict[subprocess.Popen[bytes], ManifestRun] = {}
    environment = worker_launch.worker_environment()
    try:
        while waiting or started or held:
            if not (waiting or started):
                # once more, last of all, those that another attempt held
                waiting, held = held, deque(maxlen=0)
                time.sleep(_PAUSE_SECONDS)
            while waiting and len(started) < workers:
                run = waiting.popleft()
                started[_start(run_one.command(manifest, run.number, store), environment)] = run
            time.sleep(_POLL_SECONDS)
            for process in [process_ for process_ in started if process_.poll() is not None]:
                run, code = started.pop(process), process.returncode
                if code == run_one.RESUMABLE and held.maxlen is None:
                    held.append(run)
                    continue
                left = code == run_one.RESUMABLE or code in _ENDED
                counts.done += code == 0
                counts.left += left
                counts.failed += not (code == 0 or left)
                on_end(counts)
    finally:
        for process in started:
            with suppress(ProcessLookupError):
                process.terminate()
        for process in started:
            process.wait()
    return counts


def _start(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one."""
    with _later(run_one.FROM_OUTSIDE):
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            # another thread of this process does no more than touch a lease
            preexec_fn=partial(end_with_parent, parent=os.getpid()),
        )


@contextmanager
def _later(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Signals are handled at the end.

    Python runs hooks of its own around a fork, and ignores what a handler raises in one of them.
    """
    got: list[int] = []
    handled = [number for number in numbers if callable(signal.getsignal(number))]
    before = {number: signal.signal(number, lambda n, _: got.append(n)) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for signal_ in got:
            signal.raise_signal(signal_)

"""Checkpoints: another process continues a stopped training from its last state.

A checkpoint is one file: a line of JSON that identifies the run, all objects of the training
(``pickled``), and a checksum. It is renamed to its place when it is whole, and replaces the one
before. It is no result: a continued training that fails is repeated from its start.

A checkpoint is a pickle, which can run any code when it is read: one that somebody else may have
written is refused (``UntrustedCheckpoint``).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from rlregress import files

#: if this variable is set, checkpoints are read whoever may have written them.
TRUST = "RLREGRESS_TRUST_PICKLE"
#: version of the format of a checkpoint's head and content
SCHEMA = 1
#: seconds of a training between two checkpoints, at least
EVERY_SECONDS = 600.0
#: writing may take one part in so many of the time: large checkpoints are written less often
LEAST_SHARE = 50
_DIGEST = hashlib.sha256
_DIGEST_BYTES = _DIGEST().digest_size
#: keys of the head that must be the same in the process that reads
_SAME = ("schema", "key", "suite", "python", "machine")
#: signals by which machines, schedulers and people end a process without an error.
STOPPING = (
    signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2, signal.SIGXCPU,
)  # fmt: skip
_ASKING = signal.SIGUSR1
#: keys of the content of a checkpoint.
_HELD = {"episodes", "watch", "story", "training", "random"}


class CheckpointMismatch(Exception):
    """The training cannot be continued from the checkpoint; the message is the reason."""


class UntrustedCheckpoint(Exception):
    """Somebody else may have written the checkpoint. The message says who, and what to do."""


class CheckpointNotWritten(Exception):
    """An earlier process could not write a checkpoint; the message is the reason."""


def make_checkpoint_identity(key: str, suite: str) -> dict[str, Any]:
    """Return the head entries that identify the run of a checkpoint.

    Args:
        key: the run's key.
        suite: digest of this library's code that writes and reads.
    """
    return {
        "schema": SCHEMA,
        "key": key,
        "suite": suite,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def write_checkpoint(path: Path, draft: Path, head: Mapping[str, Any], everything: Any) -> None:
    """Write a checkpoint atomically: a reader sees the previous one or the whole new one.

    Args:
        draft: the temporary file to write first; on the same file system.

    Raises:
        OSError: the disk is full, for example. Any other error: an object cannot be pickled.
    """
    from rlregress.inside import pickled  # imports torch, which reading a head does not need

    try:
        with open(draft, "wb") as file:
            sealed = _DigestingFile(file)
            sealed.write(json.dumps(head).encode() + b"\n")
            pickled.pickle_objects(everything, sealed)
            file.write(sealed.digest.digest())
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def read_checkpoint_head(path: Path) -> dict[str, Any]:
    """Return the head of a checkpoint, unchecked; empty if there is none that can be read."""
    try:
        with files.open_regular_file(path) as file:
            content = json.loads(file.readline(1 << 16))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def read_checkpoint(path: Path, expected: Mapping[str, Any]) -> tuple[dict[str, Any], Any] | None:
    """Return head and content of a checkpoint with the ``expected`` head; None: there is none.

    Args:
        expected: ``make_checkpoint_identity`` of this run.

    Raises:
        CheckpointMismatch: the checkpoint is damaged, or is of another run or other code.
        CheckpointNotWritten: an earlier process could not write one.
        UntrustedCheckpoint: somebody else may have written the checkpoint.
    """
    from rlregress.inside import pickled

    if not path.exists():
        return None
    observed = read_checkpoint_head(path)
    differing = [
        f"{name} {observed.get(name, 'missing')}, expected {expected[name]}"
        for name in _SAME
        if observed.get(name) != expected[name]
    ]
    if differing:
        words = "; ".join(differing)
        raise CheckpointMismatch(f"the checkpoint {path.name} is not of this run: found {words}")
    if observed.get("unable"):
        raise CheckpointNotWritten(observed["unable"])
    try:
        with files.open_regular_file(path) as file:
            if not os.environ.get(TRUST):
                _check_checkpoint_writers(path, os.fstat(file.fileno()))
            _check_checkpoint_digest(file)
            file.seek(0)
            file.readline()
            everything = pickled.unpickle_objects(file)
            if not isinstance(everything, dict) or set(everything) != _HELD:
                raise ValueError("it holds something else than a training")
            return observed, everything
    except UntrustedCheckpoint:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise CheckpointMismatch(f"the checkpoint {path.name} cannot be read: {reason}") from None


def _check_checkpoint_writers(path: Path, state: os.stat_result) -> None:
    """Raise UntrustedCheckpoint unless this user, root or the group of a shared store wrote it."""
    folders = [folder.stat() for folder in (path.parent, path.parent.parent)]
    # each member can write to all of them: any member may have written a file of another
    shared = all(map(files.is_group_writable, folders))
    mine = state.st_uid in (os.getuid(), 0)
    for owner, name in ((state, "it"), (folders[0], "its folder"), (folders[1], "its store")):
        sticky = owner is not state and bool(owner.st_mode & stat.S_ISVTX) and mine
        if why := files.describe_possible_writers(owner, name, shared, sticky):
            raise UntrustedCheckpoint(
                f"the checkpoint {path} is not read, as it can run any code and {why}; expected "
                "one that you or a group of yours alone may write: remove it, or give "
                "--trust-pickle"
            )


def _check_checkpoint_digest(file: BinaryIO) -> None:
    digest = _DIGEST()
    remaining = os.fstat(file.fileno()).st_size - _DIGEST_BYTES
    while remaining > 0:
        part = file.read(min(remaining, 1 << 22))
        if not part:
            break
        digest.update(part)
        remaining -= len(part)
    if file.read() != digest.digest():
        raise ValueError("its content does not match its checksum")


def rename_unfit_checkpoint(path: Path) -> Path:
    """Rename a checkpoint that does not fit, so that it is kept and not used; return its path."""
    aside = path.with_name(f"{path.name}.damaged")
    os.replace(path, aside)
    return aside


class _DigestingFile:
    """A file whose content is digested as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, _DIGEST()

    def write(self, part: Any) -> int:
        self.digest.update(part)
        return self._file.write(part)


class CheckpointWriter:
    """Writes checkpoints of a training regularly, and on a signal to stop.

    A signal only sets a flag; the training reads it at the next whole step of its loop, by calling
    this. ``SIGUSR1`` asks for a checkpoint; those of ``STOPPING`` end the process after it.

    Attributes:
        cpu_seconds: CPU time of this process spent on checkpoints.
        unable: why no checkpoint can be written; empty: no reason is known.
    """

    def __init__(self, path: Path, draft: Path, identity: Mapping[str, Any]) -> None:
        """Take the paths of ``write_checkpoint`` and a result of ``make_checkpoint_identity``."""
        self._path, self._draft, self._identity = path, draft, identity
        self._signal: int | None = None
        self._requested = False
        self._due = time.monotonic() + EVERY_SECONDS
        self._before: dict[int, Any] = {}
        #: steps -> (further keys of the head, content other than the training itself)
        self.more: Callable[[int], tuple[Mapping[str, Any], Mapping[str, Any]]]
        self.cpu_seconds = 0.0
        self.unable = ""

    def read_or_set_aside_checkpoint(self) -> tuple[dict[str, Any], Any, str]:
        """Return head and content of the checkpoint, and why it does not fit this run.

        The reason is empty if the checkpoint fits, or if there is none. One that does not fit is
        renamed or removed.
        """
        try:
            checkpoint = read_checkpoint(self._path, self._identity)
        except CheckpointMismatch as error:
            with suppress(OSError):  # the next one that is written takes its place
                rename_unfit_checkpoint(self._path)
            return {}, None, str(error)
        except CheckpointNotWritten as error:
            with suppress(OSError):
                self._path.unlink()
            return {}, None, str(error)
        return (*checkpoint, "") if checkpoint else ({}, None, "")

    def __enter__(self) -> CheckpointWriter:
        for number in (*STOPPING, _ASKING):
            self._before[number] = signal.signal(number, self._handle_signal)
        return self

    def __exit__(self, *_: Any) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before = {}
        if self._signal is not None:
            # the signal came after the last step, at which the training would have ended
            self._end_process(self._signal)

    def _handle_signal(self, number: int, _: Any) -> None:
        if number == _ASKING:
            self._requested = True
        elif self.unable:
            self._end_process(number)
        else:
            self._signal = number

    def __call__(self, steps: int, training: Any) -> None:
        """Write a checkpoint if one is due, and end the process if a signal asked for it."""
        if self._signal is None and not self._requested and time.monotonic() < self._due:
            return
        if not self.unable:
            self._write_checkpoint(steps, training)
        if self._signal is not None:
            self._end_process(self._signal)

    def _write_checkpoint(self, steps: int, training: Any) -> None:
        from rlregress.probing.random_generators import (
            read_generator_states,  # with torch, as above
        )

        wall, cpu = time.monotonic(), time.process_time()
        summary, state = self.more(steps)
        head_ = {**self._identity, **summary, "steps": steps}
        try:
            everything = {**state, "training": training, "random": read_generator_states()}
            write_checkpoint(self._path, self._draft, head_, everything)
        except OSError:
            # no error of the training: the next one may find room
            pass
        except Exception as error:
            self.unable = f"an object in it cannot be written: {type(error).__name__}: {error}"
            with suppress(OSError):
                write_checkpoint(self._path, self._draft, {**head_, "unable": self.unable}, None)
        self._requested = False
        spent = time.monotonic() - wall
        self._due = time.monotonic() + max(EVERY_SECONDS, LEAST_SHARE * spent)
        self.cpu_seconds += time.process_time() - cpu

    def _end_process(self, number: int) -> None:
        """End the process as the signal would without a handler."""
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

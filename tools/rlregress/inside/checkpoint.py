"""Checkpoints: a training that was stopped goes on where it was, in another process.

A checkpoint is one file: a line of JSON that says of what, everything that the training consists of
(``pickled``), and a checksum. It is renamed to its place when it is whole, and replaces the one
before. It is no result: a training that fails after it was continued is begun anew.

It is a pickle, which can run any code when it is read: one that somebody else may have written is
refused (``Distrusted``).

Runs inside foreign and old environments: standard library, NumPy, torch and gymnasium only, Python
3.10 syntax.
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
#: of the head and of what follows it
SCHEMA = 1
#: seconds of a training between two checkpoints, at least
EVERY_SECONDS = 600.0
#: writing takes at most one part in so many of the time: what is large is written less often
LEAST_SHARE = 50
_DIGEST = hashlib.sha256
_DIGEST_BYTES = _DIGEST().digest_size
#: what has to be the same in the process that reads
_SAME = ("schema", "key", "suite", "python", "machine")
#: what machines, schedulers and people end a process with that is not at fault.
STOPPING = (
    signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2, signal.SIGXCPU,
)  # fmt: skip
_ASKING = signal.SIGUSR1
#: what a checkpoint holds.
_HELD = {"episodes", "watch", "story", "training", "random"}


class Unfit(Exception):
    """There is a checkpoint, and the training cannot be continued from it; says why."""


class Distrusted(Exception):
    """There is a checkpoint that somebody else may have written; says who, and what to do."""


class Unable(Exception):
    """There is the word of an earlier process that it could not write a checkpoint; says why."""


def identity(key: str, suite: str) -> dict[str, Any]:
    """The part of a checkpoint's head that says whose it is.

    Args:
        key: of the run.
        suite: digest of this library's code that writes and reads.
    """
    return {
        "schema": SCHEMA,
        "key": key,
        "suite": suite,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def write(path: Path, draft: Path, head: Mapping[str, Any], everything: Any) -> None:
    """Write a checkpoint, so that a reader sees the one before or the whole new one.

    Args:
        draft: where it is written before it is whole; on the same file system.

    Raises:
        OSError: there is no room. Any other error: something cannot be written at all.
    """
    from rlregress.inside import pickled  # with torch, which who reads a head does not need

    try:
        with open(draft, "wb") as file:
            sealed = _Sealed(file)
            sealed.write(json.dumps(head).encode() + b"\n")
            pickled.dump(everything, sealed)
            file.write(sealed.digest.digest())
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def head(path: Path) -> dict[str, Any]:
    """What a checkpoint says of itself, unchecked; empty if there is none that says anything."""
    try:
        with files.open_file(path) as file:
            content = json.loads(file.readline(1 << 16))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def read(path: Path, wanted: Mapping[str, Any]) -> tuple[dict[str, Any], Any] | None:
    """(head, everything) of a checkpoint; None if there is none.

    Args:
        wanted: what ``identity`` says here.

    Raises:
        Unfit: it is damaged, or of another run, or of other code.
        Unable: none could be written.
        Distrusted: somebody else may have written it.
    """
    from rlregress.inside import pickled

    if not path.exists():
        return None
    of = head(path)
    other = [
        f"{name} {of.get(name, 'missing')}, expected {wanted[name]}"
        for name in _SAME
        if of.get(name) != wanted[name]
    ]
    if other:
        raise Unfit(f"the checkpoint {path.name} is not of this run: found {'; '.join(other)}")
    if of.get("unable"):
        raise Unable(of["unable"])
    try:
        with files.open_file(path) as file:
            if not os.environ.get(TRUST):
                _check_owner(path, os.fstat(file.fileno()))
            _check(file)
            file.seek(0)
            file.readline()
            everything = pickled.load(file)
            if not isinstance(everything, dict) or set(everything) != _HELD:
                raise ValueError("it holds something else than a training")
            return of, everything
    except Distrusted:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise Unfit(f"the checkpoint {path.name} cannot be read: {reason}") from None


def _check_owner(path: Path, of: os.stat_result) -> None:
    """Distrusted if it may be by others than this user, root, or the group of a shared store."""
    folders = [folder.stat() for folder in (path.parent, path.parent.parent)]
    # each member can write to all of them: what belongs to a member is what any may have written
    shared = all(map(files.is_shared, folders))
    mine = of.st_uid in (os.getuid(), 0)
    for owner, what in ((of, "it"), (folders[0], "its folder"), (folders[1], "its store")):
        sticky = owner is not of and bool(owner.st_mode & stat.S_ISVTX) and mine
        if why := files.describe_other_writers(owner, what, shared, sticky):
            raise Distrusted(
                f"the checkpoint {path} is not read, as it can run any code and {why}; expected "
                "one that you or a group of yours alone may write: remove it, or give "
                "--trust-pickle"
            )


def _check(file: BinaryIO) -> None:
    digest = _DIGEST()
    left = os.fstat(file.fileno()).st_size - _DIGEST_BYTES
    while left > 0:
        part = file.read(min(left, 1 << 22))
        if not part:
            break
        digest.update(part)
        left -= len(part)
    if file.read() != digest.digest():
        raise ValueError("its content does not match its checksum")


def set_aside(path: Path) -> Path:
    """Rename a checkpoint that does not fit, so that it is neither used nor lost; its new name."""
    aside = path.with_name(f"{path.name}.damaged")
    os.replace(path, aside)
    return aside


class _Sealed:
    """A file whose content is digested as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, _DIGEST()

    def write(self, part: Any) -> int:
        self.digest.update(part)
        return self._file.write(part)


class Keeper:
    """Writes checkpoints of a training when it is time, and when this process is told to stop.

    A signal only sets a flag; the training reads it at the next whole step of its loop, by calling
    this. ``SIGUSR1`` asks for a checkpoint; those of ``STOPPING`` end the process after it.

    Attributes:
        cpu_seconds: of this process, that went into checkpoints.
        unable: why none can be written, as far as is known.
    """

    def __init__(self, path: Path, draft: Path, identity: Mapping[str, Any]) -> None:
        """``path`` and ``draft`` as in ``write``; ``identity`` as the function says."""
        self._path, self._draft, self._identity = path, draft, identity
        self._signal: int | None = None
        self._requested = False
        self._due = time.monotonic() + EVERY_SECONDS
        self._before: dict[int, Any] = {}
        #: steps -> (what the head says beside the identity, everything but the training)
        self.more: Callable[[int], tuple[Mapping[str, Any], Mapping[str, Any]]]
        self.cpu_seconds = 0.0
        self.unable = ""

    def take(self) -> tuple[dict[str, Any], Any, str]:
        """(head, everything, why not) of the checkpoint that is there.

        The last is empty where there is one that fits, or none at all; one that does not fit is set
        aside.
        """
        try:
            there = read(self._path, self._identity)
        except Unfit as error:
            with suppress(OSError):  # the next one that is written takes its place
                set_aside(self._path)
            return {}, None, str(error)
        except Unable as error:
            with suppress(OSError):
                self._path.unlink()
            return {}, None, str(error)
        return (*there, "") if there else ({}, None, "")

    def __enter__(self) -> Keeper:
        for number in (*STOPPING, _ASKING):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: Any) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before = {}
        if self._signal is not None:
            # there was no further step
            self._end(self._signal)

    def _on_signal(self, number: int, _: Any) -> None:
        if number == _ASKING:
            self._requested = True
        elif self.unable:
            self._end(number)
        else:
            self._signal = number

    def __call__(self, steps: int, training: Any) -> None:
        """At a whole step of a training's loop: write if it is time; end if that was told."""
        if self._signal is None and not self._requested and time.monotonic() < self._due:
            return
        if not self.unable:
            self._write(steps, training)
        if self._signal is not None:
            self._end(self._signal)

    def _write(self, steps: int, training: Any) -> None:
        from rlregress.inside import pickled

        wall, cpu = time.monotonic(), time.process_time()
        summary, more = self.more(steps)
        of = {**self._identity, **summary, "steps": steps}
        try:
            everything = {**more, "training": training, "random": pickled.random_state()}
            write(self._path, self._draft, of, everything)
        except OSError:
            # no error of the training: the next one may find room
            pass
        except Exception as error:
            self.unable = f"what it consists of cannot be written: {type(error).__name__}: {error}"
            with suppress(OSError):
                write(self._path, self._draft, {**of, "unable": self.unable}, None)
        self._requested = False
        spent = time.monotonic() - wall
        self._due = time.monotonic() + max(EVERY_SECONDS, LEAST_SHARE * spent)
        self.cpu_seconds += time.process_time() - cpu

    def _end(self, number: int) -> None:
        """As if nobody had listened to the signal."""
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

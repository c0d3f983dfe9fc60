"""Who does a run: a lease that one attempt holds, on this machine or on any that shares the store.

A lease is a file that is made with ``O_EXCL``, says who holds it, and is touched by a thread while
it is held. It is over when its process has ended, where that can be looked up (on one machine);
when Slurm has started the same task again; or when it was not touched for ``STALE_SECONDS``, by the
clock of the file server, never by that of a machine. Who finds a lease that is over makes a second
file with ``O_EXCL``, the right to replace it, looks again, and replaces it: of many that try, one
gets it.

A lease alone does not keep two attempts from ending the same run, since one that was taken for dead
may wake up; see ``Store.put``.
"""

from __future__ import annotations

import json
import os
import platform
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

from pydantic import Field

from rlregress import datafiles
from rlregress.datafiles import Component, Line
from rlregress.errors import UserError

BEAT_SECONDS = 30.0
#: ten beats: a file server that is restarted ends no lease.
STALE_SECONDS = 300.0

#: what Slurm says of a task in its environment; see "OUTPUT ENVIRONMENT VARIABLES" of sbatch.
_SLURM = (
    "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT",
    "SLURMD_NODENAME",
)  # fmt: skip


#: of why a lease was given back, so many characters are kept.
_REASON = 300
_Natural = Annotated[int, Field(ge=0, le=10**15)]


@dataclass(frozen=True)
class Holder:
    """What a lease says.

    Attributes:
        attempt: its id, unlike that of any other attempt.
        machine: boot and namespace of processes in which ``process`` counts; empty: not known.
        begun: when the process was started, in ticks since the machine was.
        slurm: its variables of Slurm, if there are any.
        restarts: earlier attempts at the same run that did not end it.
        ended: why the lease was given back; empty: it is held.
    """

    attempt: Component
    host: Line
    machine: Line
    process: _Natural
    begun: _Natural
    slurm: Mapping[Line, Line] = field(default_factory=dict)
    restarts: Annotated[int, Field(ge=0, le=10**6)] = 0
    ended: Line = ""


@cache
def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _begun(process: int) -> int:
    """When a process was started, in ticks; 0 if there is none, or if it has ended already."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    words = text.rpartition(")")[2].split()
    return 0 if words[0] in "ZX" else int(words[19])


def this_process() -> Holder:
    """A new attempt of this process."""
    host, process = platform.node(), os.getpid()
    # a host may be called as no file can be
    named = re.sub(r"[^\w.+-]", "_", host)[:100]
    return Holder(
        attempt=f"at_{named}-{process}-{uuid.uuid4().hex[:8]}",
        host=host,
        machine=_machine(),
        process=process,
        begun=_begun(process),
        slurm={name: os.environ[name] for name in _SLURM if name in os.environ},
    )


def holder(path: Path) -> Holder | None:
    """Who holds a lease, or held it; None if there is none, or none that can be read."""
    try:
        found: Holder = datafiles.read(path, Holder)
    except UserError:
        return None
    return found


def clock(folder: Path) -> float:
    """The time of the file server that a folder lies on, in seconds since 1970.

    Where nothing can be written to the folder it is the time of this machine.
    """
    try:
        with TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime
    except OSError:
        return time.time()


def _restarts(of: Mapping[str, str]) -> int:
    value = of.get("SLURM_RESTART_COUNT", "")
    return int(value) if value.isdecimal() and len(value) < 10 else 0


def why_over(of: Holder) -> str:
    """Why an attempt holds its lease no more, as far as can be known without its age."""
    if of.ended:
        return of.ended
    if of.machine and of.machine == _machine() and _begun(of.process) != of.begun:
        return f"its process {of.process} has ended"
    task = of.slurm.get("SLURM_JOB_ID")
    again = _restarts(of.slurm) < _restarts(os.environ)
    if task and task == os.environ.get("SLURM_JOB_ID") and again:
        return f"Slurm has started its task {task} again"
    return ""


def is_over(path: Path) -> bool:
    """Whether nobody holds the lease any more."""
    of = holder(path)
    if of is not None and why_over(of):
        return True
    try:
        age = clock(path.parent) - path.stat().st_mtime
    except FileNotFoundError:
        return True
    # a process that is there may be slow or stopped, but nobody else does its run
    there = of is not None and of.machine == _machine() != ""
    return age > STALE_SECONDS and not there


def put_once(source: Path, target: Path) -> bool:
    """Rename a file to a name that is free; False if it is not, and then nothing is changed."""
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except OSError:
        # a file system without hard links
        if target.exists():
            return False
        os.rename(source, target)
        return True
    source.unlink()
    return True


class Lease:
    """One lease, held or not.

    Attributes:
        holder: this attempt.
        before: the attempt whose lease was over when this one was made, if there was one.
        lost: another attempt has taken this one for dead, and has the lease.
        on_lost: called once when that is seen, by another thread.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is made yet."""
        self.path, self.holder = path, this_process()
        self.before: Holder | None = None
        self.lost = False
        self.on_lost: Callable[[], object] = lambda: None
        self._over = threading.Event()
        self._writing = threading.Lock()

    def take(self) -> bool:
        """Get the lease if nobody has it; whether this attempt has it now."""
        if not self._make() and not self._replace():
            return False
        threading.Thread(target=self._beat, daemon=True).start()
        return True

    def _replace(self) -> bool:
        """Take a lease that is over."""
        if not is_over(self.path):
            return False
        right = self.path.with_name(f"{self.path.name}.over")
        try:
            os.close(os.open(right, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            # who has it needs it for an instant, unless he died in it
            with suppress(FileNotFoundError):
                if clock(right.parent) - right.stat().st_mtime > STALE_SECONDS:
                    right.unlink()
            return False
        try:
            over = holder(self.path)
            if not is_over(self.path):
                return False
            if over is not None:
                self.before = over
                self.holder = replace(self.holder, restarts=over.restarts + 1)
            if not self.path.exists():
                return self._make()
            self._write(self.holder)
            return True
        finally:
            right.unlink(missing_ok=True)

    def _write(self, content: Holder) -> None:
        """Put this in the place of what the file says."""
        written = self.path.with_name(f"{self.path.name}.{content.attempt}")
        try:
            written.write_text(json.dumps(asdict(content)), encoding="utf-8")
            os.replace(written, self.path)
        except OSError:
            with suppress(OSError):
                written.unlink()
            raise

    def _make(self) -> bool:
        try:
            number = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        try:
            os.write(number, json.dumps(asdict(self.holder)).encode())
        except OSError:
            self.path.unlink(missing_ok=True)
            raise
        finally:
            os.close(number)
        return True

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            # a server that is away is no loss: what the lease says is seen when it is back
            with suppress(OSError):
                if not self._touch():
                    return

    def _touch(self) -> bool:
        """One beat; False if this attempt has the lease no more."""
        with self._writing:
            if self._over.is_set():
                return False
            if self._is_mine() or (not self.path.exists() and self._make()):
                # the time is that of the file server
                os.utime(self.path)
            elif holder(self.path) is not None:
                self.lost = True
                self.on_lost()
                return False
            return True

    def _is_mine(self) -> bool:
        of = holder(self.path)
        return of is not None and of.attempt == self.holder.attempt

    def give_back(self, why: str = "") -> None:
        """Let it go: without a reason the run is done, with one the next attempt takes it at once.

        Args:
            why: what ended the attempt before the run was done.
        """
        self._over.set()
        with self._writing:
            if self._is_mine():
                self._leave(why)

    def _leave(self, why: str) -> None:
        if why:
            # on a full disk nothing is left of it
            with suppress(OSError):
                text = "".join(character if character.isprintable() else " " for character in why)
                self._write(replace(self.holder, ended=text[:_REASON]))
                return
        self.path.unlink(missing_ok=True)

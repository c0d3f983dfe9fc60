"""Leases: only one attempt does a run, on this machine or on any that shares the store.

A lease is a file created with ``O_EXCL``. It names its holder, and a thread touches it while it is
held. It is over in three cases: its process has ended (checked on the same machine only), Slurm has
started the same task again, or the file was not touched for ``STALE_SECONDS`` by the file server's
clock. To replace such a lease, a process creates a second file with ``O_EXCL``, checks again, and
replaces it. Of many that try, one succeeds.

A lease alone does not stop two attempts from finishing the same run: an attempt that was taken for
dead may wake up. ``Store.put_record_of_attempt`` keeps one record then.
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

#: variables by which Slurm identifies a task; see "OUTPUT ENVIRONMENT VARIABLES" of sbatch.
_SLURM = (
    "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT",
    "SLURMD_NODENAME",
)  # fmt: skip


#: stored characters of the reason why a lease was given back
_REASON = 300
_Natural = Annotated[int, Field(ge=0, le=10**15)]


@dataclass(frozen=True)
class Holder:
    """The attempt that holds a lease, as the lease file describes it.

    Attributes:
        attempt: its id, unlike that of any other attempt.
        machine: id of the boot and the namespace in which ``process`` is valid; empty: unknown.
        begun: start time of the process, in ticks since the machine was started.
        slurm: Slurm's variables of the process, if there are any.
        restarts: number of earlier attempts that did not finish the run.
        ended: why the lease was given back; empty: it was not.
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
def _identify_machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _read_start_time(process: int) -> int:
    """Return the start time of a process in ticks; 0 if there is none or it has ended."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    # the name of the program is in parentheses and may hold any character
    words = text.rpartition(")")[2].split()
    # state Z and X: a zombie or dead process does nothing; field 22 of proc(5) is the start time
    return 0 if words[0] in "ZX" else int(words[19])


def describe_this_process() -> Holder:
    """Return a holder for a new attempt of this process."""
    host, process = platform.node(), os.getpid()
    # host names may contain characters that file names cannot
    named = re.sub(r"[^\w.+-]", "_", host)[:100]
    return Holder(
        attempt=f"at_{named}-{process}-{uuid.uuid4().hex[:8]}",
        host=host,
        machine=_identify_machine(),
        process=process,
        begun=_read_start_time(process),
        slurm={name: os.environ[name] for name in _SLURM if name in os.environ},
    )


def read_holder(path: Path) -> Holder | None:
    """Return the present or last holder of a lease; None if no lease file is readable."""
    try:
        content: Holder = datafiles.read_data_file(path, Holder)
    except UserError:
        return None
    return content


def read_file_server_time(folder: Path) -> float:
    """Return the time of the file server of a folder, in seconds since 1970.

    If the folder is not writable, it is the time of this machine.
    """
    # clocks of machines differ by more than a beat; all leases of a store get their times here
    try:
        with TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime
    except OSError:
        return time.time()


def _parse_number_of_restarts(variables: Mapping[str, str]) -> int:
    value = variables.get("SLURM_RESTART_COUNT", "")
    return int(value) if value.isdecimal() and len(value) < 10 else 0


def explain_ended_attempt(attempt: Holder) -> str:
    """Explain why an attempt has given up its lease or has ended; empty if it may go on.

    The age of the lease is not considered.
    """
    if attempt.ended:
        return attempt.ended
    # numbers of processes are reused: the start time tells a later process from the holder
    if (
        attempt.machine
        and attempt.machine == _identify_machine()
        and _read_start_time(attempt.process) != attempt.begun
    ):
        return f"its process {attempt.process} has ended"
    task = attempt.slurm.get("SLURM_JOB_ID")
    was_restarted = _parse_number_of_restarts(attempt.slurm) < _parse_number_of_restarts(os.environ)
    if task and task == os.environ.get("SLURM_JOB_ID") and was_restarted:
        return f"Slurm has started its task {task} again"
    return ""


def is_lease_over(path: Path) -> bool:
    """Return whether no attempt holds the lease any more."""
    last_holder = read_holder(path)
    if last_holder is not None and explain_ended_attempt(last_holder):
        return True
    try:
        age = read_file_server_time(path.parent) - path.stat().st_mtime
    except FileNotFoundError:
        return True
    # a live process may be slow or stopped, but nobody else may do its run
    is_on_this_machine = (
        last_holder is not None and last_holder.machine == _identify_machine() != ""
    )
    return age > STALE_SECONDS and not is_on_this_machine


def rename_if_free(source: Path, target: Path) -> bool:
    """Rename a file unless the target exists. Return whether it was renamed."""
    try:
        # a link fails if the target exists; a rename would replace it
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
        replaced: the attempt whose expired lease this one replaced, if any.
        is_lost: whether another attempt took this one for dead and has the lease.
        on_lost: called once when that is detected, by another thread.
    """

    def __init__(self, path: Path) -> None:
        """Prepare a lease without creating its file."""
        self.path, self.holder = path, describe_this_process()
        self.replaced: Holder | None = None
        self.is_lost = False
        self.on_lost: Callable[[], object] = lambda: None
        self._ended = threading.Event()
        self._writing = threading.Lock()

    def take_if_free(self) -> bool:
        """Take the lease if no attempt has it. Return whether this attempt has it now."""
        if not self._create_lease_file() and not self._take_over_ended_lease():
            return False
        threading.Thread(target=self._renew_lease_until_ended, daemon=True).start()
        return True

    def _take_over_ended_lease(self) -> bool:
        """Take a lease that is over. Return whether that succeeded."""
        if not is_lease_over(self.path):
            return False
        lock = self.path.with_name(f"{self.path.name}.over")
        try:
            # exclusive creation decides among several that see the same expired lease
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            # the lock is held for an instant, unless its process died meanwhile
            with suppress(FileNotFoundError):
                if read_file_server_time(lock.parent) - lock.stat().st_mtime > STALE_SECONDS:
                    lock.unlink()
            return False
        try:
            # read again under the lock: the process before this one may have taken the lease
            last_holder = read_holder(self.path)
            if not is_lease_over(self.path):
                return False
            if last_holder is not None:
                self.replaced = last_holder
                self.holder = replace(self.holder, restarts=last_holder.restarts + 1)
            if not self.path.exists():
                return self._create_lease_file()
            self._write_lease_file(self.holder)
            return True
        finally:
            lock.unlink(missing_ok=True)

    def _write_lease_file(self, content: Holder) -> None:
        written = self.path.with_name(f"{self.path.name}.{content.attempt}")
        try:
            written.write_text(json.dumps(asdict(content)), encoding="utf-8")
            os.replace(written, self.path)
        except OSError:
            with suppress(OSError):
                written.unlink()
            raise

    def _create_lease_file(self) -> bool:
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

    def _renew_lease_until_ended(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            # an unreachable server is no loss: the lease is read again when it is back
            with suppress(OSError):
                if not self._renew_lease():
                    return

    def _renew_lease(self) -> bool:
        """Renew the lease. Return False if this attempt no longer has it."""
        with self._writing:
            if self._ended.is_set():
                return False
            if self._is_held_by_this_attempt() or (
                not self.path.exists() and self._create_lease_file()
            ):
                # the time is that of the file server
                os.utime(self.path)
            elif read_holder(self.path) is not None:
                self.is_lost = True
                self.on_lost()
                return False
            return True

    def _is_held_by_this_attempt(self) -> bool:
        current = read_holder(self.path)
        return current is not None and current.attempt == self.holder.attempt

    def release_lease(self, reason: str = "") -> None:
        """Give the lease back.

        Args:
            reason: the error that ended the attempt before the run was done. The next attempt then
                starts at once.
        """
        self._ended.set()
        # another attempt may have taken the lease meanwhile
        with self._writing:
            if self._is_held_by_this_attempt():
                self._release_lease_file(reason)

    def _release_lease_file(self, reason: str) -> None:
        if reason:
            # best effort: the disk may be full
            with suppress(OSError):
                text = "".join(
                    character if character.isprintable() else " " for character in reason
                )
                self._write_lease_file(replace(self.holder, ended=text[:_REASON]))
                return
        self.path.unlink(missing_ok=True)

"""Ensures that no process or temporary file outlives the command that made it, however it ends.

Run as a file, ``python process_tree.py PARENT COMMAND...`` supervises a command: it passes signals
on, adopts processes that the command leaves behind, ends them, and then ends as the command did. It
ends all if its parent dies, and removes the folder of temporary files if nobody else will. Linux
only; elsewhere commands run unsupervised. Standard library
alone, Python 3.10 syntax: it is imported inside foreign environments, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:  # a supervisor starts in a twentieth of a second without it
    import subprocess

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LINUX = sys.platform == "linux"
#: beginning of the name of a folder of temporary files, which is removed: no user names one so. The
#: number of the process that removes it follows.
_FOLDER = "rlregress.tmp-"
#: whether this process has made such a folder, and will remove it.
_owned = False
#: seconds after which a process that goes on after SIGTERM is killed.
_GRACE = 2.0
#: the signal on which a supervisor kills everything that it supervises.
KILL_TREE = signal.SIGUSR2
#: the signal that a supervisor gets when its parent dies, or just the thread that started it.
_PARENT_DIED = signal.SIGURG
#: signals that a supervisor passes on to its command.
_PASSED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)


def make_supervised_command(command: Sequence[str], parent: int = 0) -> list[str]:
    """Return a command that runs another one, whose processes all end if this process ends.

    Args:
        parent: the process whose end ends the command; 0: this process.
    """
    if not _LINUX:
        return list(command)
    return [sys.executable, "-IS", __file__, str(parent or os.getpid()), *command]


def kill_tree(process: subprocess.Popen[Any]) -> None:
    """Kill a supervised process and all processes that it has started."""
    process.send_signal(KILL_TREE if _LINUX else signal.SIGKILL)


def run_supervised(
    command: Sequence[str], timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a supervised command to its end; kill all of it if the wait ends first.

    Args:
        timeout: seconds after which the wait ends with ``subprocess.TimeoutExpired``.
        options: of ``subprocess.Popen``.
    """
    import subprocess

    text = {"text": True, "stdin": subprocess.DEVNULL, **options}
    with subprocess.Popen(make_supervised_command(command), **text) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            kill_tree(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def end_process_with_parent(stop_signal: signal.Signals = signal.SIGTERM, parent: int = 0) -> None:
    """Make Linux end this process when its parent dies, in whatever way.

    Args:
        stop_signal: the signal that ends it.
        parent: the process that has started this one: it may have died already. 0: not known.
    """
    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, stop_signal)
        if parent and _read_process_state(parent)[0] in "ZX":
            os.kill(os.getpid(), stop_signal)


@contextlib.contextmanager
def end_children() -> Iterator[None]:
    """At the end of the block, end every process started in it, and all their descendants."""
    if not _LINUX:
        yield
        return
    before = _list_children()
    # what a child leaves behind becomes a child of this process
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        # Python's own process ends by itself; what is still to be released would find it gone
        trackers = sys.modules.get("multiprocessing.resource_tracker")
        tracker = getattr(getattr(trackers, "_resource_tracker", None), "_pid", None)
        _end_children({*before, tracker})
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0)


@contextlib.contextmanager
def use_own_temporary_folder() -> Iterator[str]:
    """Keep temporary files of the block and its processes in a folder, removed after the block.

    Children get it from ``child_environment``. A command that another one has started uses the
    folder of that one.

    Yields:
        The folder.
    """
    import shutil
    import tempfile

    global _owned
    before, folder = tempfile.tempdir, tempfile.gettempdir()
    owner = find_owner_of_temporary_folder(folder)
    if _owned or owner not in (0, os.getpid()):
        yield folder
        return
    if owner:
        # this command was executed in the place of another one; what it hands to Slurm outlives it
        os.environ["TMPDIR"] = os.path.dirname(folder)
        tempfile.tempdir = folder
    else:
        tempfile.tempdir = folder = tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-")
    _owned = True
    try:
        yield folder
    finally:
        _owned, tempfile.tempdir = False, before
        shutil.rmtree(folder, ignore_errors=True)


def find_owner_of_temporary_folder(folder: str) -> int:
    """Return the process id that owns, and removes, a temporary folder; 0: it is no such folder."""
    before, _, suffix = os.path.basename(folder).partition(_FOLDER)
    number = suffix.partition("-")[0]
    return int(number) if not before and number.isdecimal() else 0


def _remove_abandoned_temporary_folder() -> None:
    """Remove the folder of temporary files if its owner has ended, or is this very process."""
    folder = os.environ.get("TMPDIR", "")
    owner = find_owner_of_temporary_folder(folder)
    if owner and (owner == os.getpid() or _read_process_state(owner)[0] in "ZX"):
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _read_process_state(process: int) -> list[str]:
    """Return state and parent of a process, from its line in ``/proc``."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return ["X", "0"]
    return text.rpartition(")")[2].split()[:2]


def _list_children() -> set[int]:
    parent = str(os.getpid())
    processes = (int(name) for name in os.listdir("/proc") if name.isdecimal())
    return {process for process in processes if _read_process_state(process)[1] == parent}


def _end_children(spared: Collection[int | None] = (), grace: float = _GRACE) -> None:
    """End this process's children, then their children, which it adopts when their parents end."""
    notified: set[int] = set()
    end = time.monotonic() + grace
    while children := _list_children() - set(spared):
        for child in children:
            late = time.monotonic() > end
            if late or child not in notified:
                notified.add(child)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL if late else signal.SIGTERM)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)


def _run_and_clean_up(parent: int, command: list[str]) -> NoReturn:
    """Run a command, then end all processes that it has left behind; exit as the command did."""
    awaited = {*_PASSED, KILL_TREE, _PARENT_DIED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(_PR_SET_PDEATHSIG, _PARENT_DIED)
    own = os.getpid()
    child = os.fork()
    if not child:
        end_process_with_parent(signal.SIGKILL, own)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _replace_by_command(command)
    finished = status = 0
    while finished != child:
        got = signal.sigwaitinfo(awaited) if os.getppid() == parent else None
        if got is None or got.si_signo == KILL_TREE or os.getppid() != parent:
            _end_children(grace=0.0)
            _end_process_as(signal.SIGKILL)
        if got.si_signo in _PASSED and got.si_pid:
            # a signal from the terminal has no sender, and reaches the command anyway
            _forward_signal(got.si_signo, child)
        finished = -1
        while finished not in (0, child):
            finished, status = os.waitpid(-1, os.WNOHANG)
    _end_children()
    _end_process_as(status)


def _forward_signal(number: int, child: int) -> None:
    """Send a signal to the command; to its whole group if this process leads one."""
    if os.getpgrp() != os.getpid():
        os.kill(child, number)
        return
    os.killpg(0, number)
    # it is in the group, too
    signal.sigtimedwait([number], 0)


def _replace_by_command(command: list[str]) -> NoReturn:
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)


def _end_process_as(status: int) -> NoReturn:
    """End this process with the exit status or signal of another process."""
    _remove_abandoned_temporary_folder()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    _run_and_clean_up(int(sys.argv[1]), sys.argv[2:])

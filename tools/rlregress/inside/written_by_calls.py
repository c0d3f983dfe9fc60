"""Keeps the output of repeated calls away from the training's files, and returns it.

All files that the process has open are replaced by one file in memory, the sink. Files that a call
makes go to a separate folder, where the call finds them again. Anything else that would have an
effect outside of the process is refused: such a call is not compared.
"""

from __future__ import annotations

import builtins
import fcntl
import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from rlregress.inside import audit_events, written_contents
from rlregress.inside.written_files import WRITES, list_files_open_for_writing

#: audit events that are refused, as they change something outside of the process and its folder.
_REFUSED = frozenset((
    "open", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink",
    "os.truncate", "os.chmod", "shutil.rmtree", "subprocess.Popen", "os.posix_spawn", "os.system",
    "os.exec", "os.fork", "os.forkpty", "socket.connect", "socket.bind",
))  # fmt: skip
#: how many bytes are compared, of the redirected output and of all files.
_MOST = 8 << 20


class RedirectedOutput:
    """Redirects files that repeated calls of this process write, and reads them afterwards.

    Attributes:
        refused: the event that was refused to a call; empty: none.
        forking: whether this suite itself makes a copy of the process now.
    """

    def __init__(self, folder: str, sink: int) -> None:
        self._folder, self._sink = folder, sink
        #: open files of the training, and those that a call has opened.
        self._open_before: list[Any] = []
        self._opened: list[Any] = []
        self._open: Callable[..., Any] = builtins.open
        self._stat = os.stat
        self.refused = ""
        self.forking = False

    # -- of each call ------------------------------------------------------------------------

    def delete_earlier_output(self) -> None:
        self._flush_files()
        del self._opened[:]
        os.ftruncate(self._sink, 0)
        os.lseek(self._sink, 0, os.SEEK_SET)
        if self._exists_for_call(self._folder):
            shutil.rmtree(self._folder)
        self.refused = ""

    def read_output_as_leaves(self) -> dict[str, Any]:
        """Return the output since the last deletion, as leaves."""
        self._flush_files()
        text = os.pread(self._sink, _MOST, 0)
        contents = {"open files": text} if text else {}
        for at, _, names in os.walk(self._folder):
            for path in sorted(os.path.join(at, name) for name in names):
                with self._open(path, "rb") as file:
                    contents[f"file {path[len(self._folder) :]}"] = file.read(_MOST)
        return {
            f"{written_contents.mask_path(name)}, {item}": leaf
            for name, content in sorted(contents.items())
            for item, leaf in written_contents.list_items_of_file(name, content)
        }

    def _flush_files(self) -> None:
        for file in (sys.stdout, sys.stderr, *self._open_before, *self._opened):
            with suppress(Exception):
                file.flush()

    # -- of the process ----------------------------------------------------------------------

    def redirect_files_opened_later(self, open_already: list[Any]) -> None:
        """Redirect files that are opened from now on, for as long as the process lives.

        Args:
            open_already: files that were open before.
        """
        self._open_before = open_already
        # before anything is refused
        written_contents.list_folder_masks()
        self.delete_earlier_output()
        for owner, name in (
            (builtins, "open"), (os, "open"), (os, "stat"), (os, "lstat"), (os, "listdir"),
            (os, "scandir"), (os, "remove"), (os, "unlink"), (os, "rmdir"), (torch, "load"),
        ):  # fmt: skip
            setattr(
                owner, name, self._make_redirected_function(getattr(owner, name), name == "open")
            )
        io.open = builtins.open
        self._redirect_other_functions()
        audit_events.listen_to_events(self._refuse_event, *_REFUSED)

    def _make_redirected_function(self, original: Any, opens: bool) -> Any:
        def call_redirected(*arguments: Any, **options: Any) -> Any:
            name = next((name for name in ("file", "path", "f") if name in options), "")
            path, *further = [options.pop(name), *arguments] if name else arguments or ["."]
            if options.get("dir_fd") is None:
                mode = further[0] if further else options.get("mode", options.get("flags", ""))
                path = self._redirect_path_to_own_folder(path, opens and _is_writing_mode(mode))
            result = original(path, *further, **options)
            if isinstance(result, io.IOBase):
                self._opened.append(result)
            return result

        return call_redirected

    def _redirect_other_functions(self) -> None:
        """Redirect ``mkdir``, functions that rename files, and ``torch.save``."""
        mkdir, rename, save = os.mkdir, os.rename, torch.save

        def make_folder(path: Any, *arguments: Any, **options: Any) -> Any:
            if options.get("dir_fd") is None:
                if self._exists_for_call(path):
                    raise FileExistsError(17, "File exists", path)
                path = self._redirect_path_to_own_folder(path, True)
            return mkdir(path, *arguments, **options)

        def move_file(old: Any, new: Any, **options: Any) -> Any:
            return rename(
                self._redirect_path_to_own_folder(old, False),
                self._redirect_path_to_own_folder(new, True),
                **options,
            )

        def save_to_file(obj: Any, f: Any, *arguments: Any, **options: Any) -> Any:
            return save(obj, self._redirect_path_to_own_folder(f, True), *arguments, **options)

        for owner, name, new in (
            (os, "mkdir", make_folder), (os, "rename", move_file), (os, "replace", move_file),
            (torch, "save", save_to_file),
        ):  # fmt: skip
            setattr(owner, name, new)

    def _redirect_path_to_own_folder(self, path: Any, writes: bool) -> Any:
        """Return a path in the separate folder if a call wrote or will write it, else the path."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return path
        absolute = os.path.abspath(os.fsdecode(path))
        if absolute.startswith((self._folder, os.devnull)):
            return path
        inside = self._folder + absolute
        if self._exists_for_call(inside):
            return inside
        if not writes or not self._exists_for_call(os.path.dirname(absolute)):
            return path
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        if os.path.isfile(absolute):
            with self._open(absolute, "rb") as original, self._open(inside, "wb") as copy:
                copy.write(original.read())
        return inside

    def _exists_for_call(self, path: Any) -> bool:
        for place in (self._folder + os.path.abspath(os.fsdecode(path)), path):
            with suppress(OSError):
                self._stat(place)
                return True
        return False

    def _refuse_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.forking or self._is_event_harmless(event, arguments):
            return
        self.refused = self.refused or event
        raise PermissionError(f"a repeated call does not do {event}")

    def _is_event_harmless(self, event: str, arguments: tuple[Any, ...]) -> bool:
        """Return whether an event changes nothing, or only files in the folder or the sink."""
        if arguments and isinstance(arguments[0], int):
            return True
        if event == "open":
            path, mode, flags = arguments
            if not (_is_writing_mode(flags) or _is_writing_mode(mode)):
                return True
            return os.fspath(path) == os.devnull or self._is_in_own_folder(path)
        if event in ("os.remove", "os.rmdir") and arguments[-1] >= 0:
            # a part of a removed folder tree, whose own audit event was judged before
            return True
        paths = arguments[:2] if event == "os.rename" else arguments[:1]
        are_paths = isinstance(next(iter(paths), None), (str, bytes, os.PathLike))
        return are_paths and all(self._is_in_own_folder(path) for path in paths)

    def _is_in_own_folder(self, path: Any) -> bool:
        absolute = os.path.abspath(os.fsdecode(path))
        return absolute.startswith(self._folder) or self._exists_for_call(self._folder + absolute)


def _is_writing_mode(mode: Any) -> bool:
    """Return whether an open mode, or flags, allow writing."""
    return bool(mode & WRITES) if isinstance(mode, int) else bool(set(mode or "") & set("wax+"))


#: the redirection in this process; None: nothing is redirected.
current: RedirectedOutput | None = None


def name_output_folder(process: int) -> str:
    """Return the separate folder for files that repeated calls of a process write."""
    return os.path.join(tempfile.gettempdir(), f"rlregress-call-{process}")


def redirect_open_files(answer_pipe: int) -> None:
    """Redirect all files that this process has open, or opens from now on.

    Args:
        answer_pipe: the file descriptor that stays as it is.
    """
    global current
    with tempfile.TemporaryFile() as file:
        sink = os.dup(file.fileno())
    fcntl.fcntl(sink, fcntl.F_SETFL, fcntl.fcntl(sink, fcntl.F_GETFL) | os.O_APPEND)
    numbers = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ["1", "2"]
    # a search of all objects takes a while
    open_already = (
        list_files_open_for_writing() if any(map(_is_open_for_writing, map(int, numbers))) else []
    )
    for number in map(int, numbers):
        if number not in (answer_pipe, sink):
            with suppress(OSError):
                os.dup2(sink, number)
    current = RedirectedOutput(name_output_folder(os.getpid()), sink)
    current.redirect_files_opened_later(open_already)


def _is_open_for_writing(number: int) -> bool:
    """Return whether a file with a name, and no standard stream, is open for writing."""
    with suppress(OSError):
        flags, state = fcntl.fcntl(number, fcntl.F_GETFL), os.fstat(number)
        is_file = stat.S_ISREG(state.st_mode) and state.st_nlink > 0
        return number > 2 and is_file and flags & os.O_ACCMODE != os.O_RDONLY
    return False

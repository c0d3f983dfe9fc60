"""Records files that a training writes and lines that it prints, as events "file" and "printed".

An audit hook reports each file that Python opens for writing, renames or removes. A file that is
written again, or removed, is copied first. At the end ``written_contents`` reads all of them.
"""

from __future__ import annotations

import _io
import contextlib
import fcntl
import gc
import os
import stat
import sys
from collections.abc import Iterator
from typing import Any

import torch

from rlregress.inside import audit_events, written_contents
from rlregress.inside.events import Event, make_part_of_text
from rlregress.model.recorded_traces import LOST
from rlregress.probing.framework_errors import call_original

#: compared beside the contents, and not compared: docs/evidence.md shows both.
COMPARED = {
    "files": "name, how often it was written anew, content at each time",
    "standard output and error": "each line, of the process and of those that it starts",
}
NOT_COMPARED = (
    "what is sent to a network, to another process, or to a device",
    "files that code outside of Python writes into a folder that was there before, but for "
    "`torch.save`",
    "caches: `__pycache__`, and the folders `.cache` and `.config`",
    "files of more than 256 MiB, or beyond 1 GiB in all: the report names them",
    "files that code outside of Python removes",
    "of a file that is written more than 50 times, all but the first 49 contents and the last",
    "what is printed beyond 16 MiB",
    "what differs from one recording of a version to the next: the report names it",
)
_LARGEST = 256 << 20
#: at most so many bytes are copied of all files together.
_ROOM = 1 << 30
#: at most so many printed bytes are compared.
_PRINTED = 16 << 20
#: at most so many contents of one file are compared: the first ones and the last.
_COPIES = 50
_IGNORED = ("__pycache__", ".cache", ".config")
#: how the name of torch's folder for compiled code begins, which importing torch creates.
_COMPILED = "torchinductor_"
_OUTSIDE = ("/dev/", "/proc/", "/sys/")
_STREAMS = {1: "standard output", 2: "standard error"}
#: flags of a file that is opened for writing.
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class WrittenFiles:
    """Notes files that a training writes and lines that it prints; a context manager.

    Args:
        output: the trace, which is no file of the training.
    """

    def __init__(self, output: str) -> None:
        self._own = [_resolve_path(output + end) for end in ("", ".tmp", ".error")]
        self._process = os.getpid()
        #: path -> position at which the training began to write, behind earlier content.
        self._files: dict[str, int] = {}
        #: path -> contents, in the order in which files were written first.
        self._copies: dict[str, list[Any]] = {}
        self._room = _ROOM
        self._folders: set[str] = set()
        self._printed: dict[int, int] = {}
        self._lock = -1
        self._failure = ""
        self._is_noting = False

    def __enter__(self) -> WrittenFiles:
        _flush_standard_streams()
        # before the hook: Python writes a file to find the temporary folder, under a lock
        written_contents.list_folder_masks.cache_clear()
        written_contents.list_folder_masks()
        for number in _STREAMS:
            if stat.S_ISREG(os.fstat(number).st_mode):
                self._printed[number] = os.lseek(number, 0, os.SEEK_CUR)
        self._stop_listening = audit_events.listen_to_events(self.note_file_operation, *_HANDLERS)
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop_listening()

    def install(self, recorder: Any) -> None:
        """Hook ``torch.save``, whose files Python's own audit events do not show."""
        original = torch.save

        def save_and_note(*arguments: Any, **options: Any) -> Any:
            target = arguments[1] if len(arguments) > 1 else options.get("f")
            if isinstance(target, (str, os.PathLike)):
                self.note_file_operation("open", (target, "w", os.O_WRONLY | os.O_TRUNC))
            return call_original(original, *arguments, **options)

        recorder.patch_until_exit(torch, "save", save_and_note)

    # -- while the training runs -------------------------------------------------------------

    def note_file_operation(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an operation on a file before it is done."""
        if self._is_noting or os.getpid() != self._process:
            return
        self._is_noting = True
        try:
            _HANDLERS[event](self, *arguments)
        except (OSError, TypeError, ValueError):
            # no path, or it does not exist: the operation raises its own error
            pass
        except Exception as error:
            # a recorder's failure must not end a training
            self._failure = f"this suite failed: {type(error).__name__}: {error}"
        finally:
            self._is_noting = False

    def _note_open(self, path: Any, mode: Any, flags: int) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)) or not (flags or 0) & WRITES:
            return
        path = _resolve_path(path)
        if self._is_ignored(path) or os.path.isdir(path):
            return
        self._wait_for_other_recordings(path)
        if path in self._files and flags & os.O_TRUNC:
            self._keep_content(path)
        elif path not in self._files:
            size = os.path.getsize(path) if os.path.isfile(path) else 0
            self._files[path] = size if flags & os.O_APPEND else 0
            self._copies.setdefault(path, [])

    def _note_mkdir(self, path: Any, mode: Any = 0, folder: int = -1) -> None:
        path = _resolve_path(path)
        if folder == -1 and not self._is_ignored(path) and not os.path.exists(path):
            self._wait_for_other_recordings(path)
            self._folders.add(path)

    def _note_remove(self, path: Any, folder: int = -1) -> None:
        path = _resolve_path(path)
        if folder == -1 and self._is_written_by_training(path):
            self._keep_content(path)
            self._files.pop(path, None)

    def _note_rename(self, old: Any, new: Any, *_: Any) -> None:
        old, new = _resolve_path(old), _resolve_path(new)
        if new in self._files:
            self._keep_content(new)
        if os.path.isdir(old):
            for path in [p for p in self._files if p.startswith(old + os.sep)]:
                self._files[new + path[len(old) :]] = self._files.pop(path)
            self._folders.add(new)
        elif old in self._files or self._is_written_by_training(old):
            self._files[new] = self._files.pop(old, 0)
            self._copies.setdefault(new, [])

    def _note_random_name(self, path: Any) -> None:
        written_contents.TEMPORARY.append(_resolve_path(path))

    def _note_rmtree(self, path: Any, folder: Any = None) -> None:
        for file in self._list_written_files(_resolve_path(path)):
            self._note_remove(file)

    def _wait_for_other_recordings(self, path: str) -> None:
        """Wait until no other recording writes into folders that the versions share."""
        if self._lock < 0 and not written_contents.is_unique_temporary_path(path):
            self._lock = os.open(os.getcwd(), os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def _is_ignored(self, path: str) -> bool:
        parts = path.split(os.sep)
        if path in self._own or path.startswith(_OUTSIDE):
            return True
        return any(part in _IGNORED or part.startswith(_COMPILED) for part in parts)

    def _is_written_by_training(self, path: str) -> bool:
        """Return whether the training has written a file: it opened it, or created its folder."""
        if path in self._files:
            return True
        below = any(path.startswith(folder + os.sep) for folder in self._folders)
        return below and not self._is_ignored(path) and os.path.isfile(path)

    def _list_written_files(self, folder: str) -> list[str]:
        """Return the files below a folder that the training has written."""
        paths = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
        return [path for path in sorted(paths) if self._is_written_by_training(path)]

    def _keep_content(self, path: str) -> None:
        copies = self._copies.setdefault(path, [])
        if len(copies) == _COPIES:
            copies.pop()
        copies.append(self._read_content(path))

    def _read_content(self, path: str) -> Any:
        """Return the bytes of a file, or why they are not compared; None: there is no file."""
        try:
            size = os.path.getsize(path)
            if size > min(_LARGEST, self._room):
                return f"it has {size >> 20} MiB, and there is room for {self._room >> 20} MiB"
            self._room -= size
            with open(path, "rb") as file:
                file.seek(self._files.get(path, 0))
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"it cannot be read: {error.strerror}"

    # -- after the training ------------------------------------------------------------------

    def make_events_of_files(self) -> list[Event]:
        """Return an event for each written content, and release the lock on shared folders."""
        _flush_open_files()
        for folder in sorted(self._folders):
            self._files.update(
                (path, self._files.get(path, 0)) for path in self._list_written_files(folder)
            )
        for path in self._files:
            self._keep_content(path)
        printed = dict(self._list_printed_texts())
        if self._lock >= 0:
            os.close(self._lock)
        folders = [written_contents.mask_path(folder) for folder in self._folders]
        folders.sort(key=len, reverse=True)
        written = [
            _make_event_of_file("file", _mask_file_name(path, folders), path, content)
            for path, copies in self._copies.items()
            for content in copies
            if content is not None
        ]
        written += [
            _make_event_of_file("printed", name, name, text) for name, text in printed.items()
        ]
        if self._failure:
            written.append(_make_event_of_file("file", "a file", "", self._failure))
        return written

    def _list_printed_texts(self) -> Iterator[tuple[str, Any]]:
        for number, name in _STREAMS.items():
            if number not in self._printed:
                yield name, "it is no file"
                continue
            start = self._printed[number]
            length = os.lseek(number, 0, os.SEEK_CUR) - start
            try:
                text = os.pread(number, min(length, _PRINTED), start)
            except OSError:
                yield name, "it is not open for reading"
                continue
            if text:
                yield name, text


_HANDLERS: dict[str, Any] = {
    "open": WrittenFiles._note_open,
    "os.mkdir": WrittenFiles._note_mkdir,
    "os.remove": WrittenFiles._note_remove,
    "os.rename": WrittenFiles._note_rename,
    "shutil.rmtree": WrittenFiles._note_rmtree,
    "tempfile.mkdtemp": WrittenFiles._note_random_name,
    "tempfile.mkstemp": WrittenFiles._note_random_name,
}


def _resolve_path(path: Any) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(os.fsdecode(path)))),
                        os.path.basename(os.fsdecode(path)))  # fmt: skip


def _mask_file_name(path: str, folders: list[str]) -> str:
    """Return the name of a file with masks for parts that differ in every run.

    Args:
        folders: those that the training created, the longest first, as ``mask_path`` names them.
    """
    name = written_contents.mask_path(path)
    for folder in folders:
        # a folder of logs may end with the number of the run, which grows each time
        if name.startswith(folder + os.sep):
            head = folder.rstrip("0123456789")
            if head.endswith("_") and head != folder:
                name = f"{head}<number>{name[len(folder) :]}"
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _make_event_of_file(kind: str, name: str, path: str, content: Any) -> Event:
    """Return the event of one version of a file, which may be written several times."""
    if isinstance(content, str):
        parts = {LOST: make_part_of_text(content)}
    else:
        parts = written_contents.make_event_parts(
            written_contents.list_items_of_file(path, content)
        )
    return {"kind": kind, "name": name, "at": None, "parts": parts}


def _flush_standard_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _flush_open_files() -> None:
    """Flush the files that are still open."""
    _flush_standard_streams()
    for file in list_files_open_for_writing():
        with contextlib.suppress(Exception):
            file.flush()


def list_files_open_for_writing() -> list[Any]:
    """Return the files of this process that are open for writing, and writers of TensorBoard."""
    files = []
    for value in gc.get_objects():
        kind = type(value)
        # not isinstance, which calls proxies, and is slow for an abstract class
        if _io._IOBase in kind.__mro__:
            with contextlib.suppress(Exception):
                files += [value] if not value.closed and value.writable() else []
        elif kind.__name__ == "EventFileWriter":
            files.append(value)
    return files

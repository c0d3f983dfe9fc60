"""Opens and removes files and folders that other users may have written or named.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from rlregress.errors import UserError

#: bytes of a file that is read whole, at most; ten times the largest file that is written.
LARGEST_BYTES = 1 << 30
_COMPONENT = re.compile(r"\w[\w.+@:=~-]*")
_LONGEST_COMPONENT = 200
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def is_plain_name(text: object) -> bool:
    """Return whether a value is a plain file or folder name."""
    return (
        isinstance(text, str)
        and _COMPONENT.fullmatch(text) is not None
        and len(os.fsencode(text)) <= _LONGEST_COMPONENT
    )


def resolve_real_path(path: str | Path) -> Path:
    """Return the absolute path with all links resolved, except a loop of links."""
    return Path(os.path.realpath(path))


def join_inside(root: Path, *names: str) -> Path:
    """Join names that come from data to ``root``; refuse a path that leads out of it.

    Raises:
        UserError: a name is not that of one file or folder, or a link leads out of ``root``.
    """
    for name in names:
        if not is_plain_name(name):
            raise UserError(
                f"'{name}' cannot be the name of a file below {root}; expected letters, digits and "
                "any of _.+@:=~-, with a letter, a digit or _ in front"
            )
    path = root.joinpath(*names)
    _check_path_is_inside(root, path)
    return path


def _check_path_is_inside(root: Path, path: Path) -> None:
    try:
        # writing replaces a link to a file, not the file behind it
        is_folder = os.path.isdir(path)
        real = resolve_real_path(path) if is_folder else resolve_real_path(path.parent) / path.name
    except OSError as error:
        raise UserError(f"{path} cannot be used: {error.strerror}") from None
    if resolve_real_path(root) not in real.parents:
        raise _make_outside_error(root, path)


def _make_outside_error(root: Path, path: Path) -> UserError:
    return UserError(
        f"{path} lies outside of {root}, where a link leads; nothing is done there: remove the link"
    )


def remove_inside(root: Path, path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it, if it is there.

    Nothing outside of ``root`` is removed, even if a folder is replaced by a link meanwhile: each
    folder on the way is opened without following links. Of a link, only the link is removed.

    Raises:
        UserError: the path lies outside of ``root``.
        OSError: it cannot be removed.
    """
    *folders, name = path.relative_to(root).parts
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(resolve_real_path(root), flags)
    try:
        for folder in folders:
            try:
                inner = os.open(folder, flags | os.O_NOFOLLOW, dir_fd=descriptor)
            except FileNotFoundError:
                return
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise _make_outside_error(root, path) from None
                raise
            os.close(descriptor)
            descriptor = inner
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                shutil.rmtree(name, dir_fd=descriptor)
            else:
                os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def is_group_writable(status: os.stat_result) -> bool:
    """Return whether a group of this user may write to a file or folder."""
    return status.st_gid in _list_own_groups() and bool(status.st_mode & stat.S_IWGRP)


def describe_possible_writers(
    status: os.stat_result, subject: str, is_shared: bool, is_sticky: bool = False
) -> str:
    """Describe who besides this user, root and own groups may have written something.

    Args:
        subject: the file or folder, in words.
        is_shared: the members of its group may write to its folder, and so each may own it.
        is_sticky: the subject is a folder like /tmp, where others cannot replace own files.

    Returns:
        A description; empty if nobody may.
    """
    if status.st_mode & stat.S_IWOTH and not is_sticky:
        return f"everybody may write to {subject}"
    if status.st_mode & stat.S_IWGRP and not is_group_writable(status):
        return f"the group {status.st_gid}, which is none of yours, may write to {subject}"
    if status.st_uid not in (os.getuid(), 0) and not (
        is_shared and status.st_gid in _list_own_groups()
    ):
        return f"{subject} belongs to the user {status.st_uid}"
    return ""


def _list_own_groups() -> set[int]:
    return {os.getegid(), *os.getgroups()}


def open_regular_file(path: Path) -> BinaryIO:
    """Open a regular file to read it; never wait, as opening a pipe would.

    Raises:
        OSError: it does not exist, may not be read, or is no regular file.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(number).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(
                errno.EINVAL, f"it is {_describe_kind_of_file(mode)}, not a file", str(path)
            )
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def check_path_is_file_or_free(path: Path) -> None:
    """Check that a file can be written at a path: there is none yet, or one to replace.

    Raises:
        OSError: it is a folder, a pipe or a device, or a link to one.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, f"it is {_describe_kind_of_file(mode)}, not a file", str(path))


def _describe_kind_of_file(mode: int) -> str:
    return next((name for fits, name in _KINDS if fits(mode)), "something else")


def read_regular_file(path: Path, largest: int = LARGEST_BYTES) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: as ``open_regular_file``, or it is larger than ``largest`` bytes.
    """
    with open_regular_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise OSError(errno.EFBIG, f"it has {size} bytes, more than {largest}", str(path))
        return file.read(largest)


def suggest_remedy_of_os_error(error: OSError, folder: Path) -> str:
    """Suggest a remedy for an error of the operating system in a folder that is written to."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"make room in {folder}, or name another folder"
    if not folder.is_dir():
        return f"the folder {folder} no longer exists: restore it"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"see that you may write to {folder}, or name another folder"
    return f"see that {folder} can be used, or name another folder"

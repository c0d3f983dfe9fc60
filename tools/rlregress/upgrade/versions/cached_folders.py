"""Make a folder once, whole or not at all.

A folder is made beside its place and moved there when it is complete, under a lock that the
operating system gives back when its holder ends: an interrupted or killed command leaves nothing
that the next one could take for a finished environment, and no lock.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp
from uuid import uuid4

from filelock import FileLock, Timeout

from rlregress.errors import UserError
from rlregress.suite import CACHE_VARIABLE as CACHE_VARIABLE
from rlregress.suite import describe_unwritable_cache
from rlregress.suite import locate_cache as locate_cache

#: the file that marks a folder which was made to the end.
READY = ".ready.json"

Log = Callable[[str], None]


def ignore_message(_: str) -> None:
    """Ignore a message."""


def require_writable_cache() -> None:
    """Raise UserError unless the cache can be written; called before any measurement."""
    try:
        # a cache that does not exist yet is not made here: the folder above it is checked
        folder = next(path for path in (locate_cache(), *locate_cache().parents) if path.exists())
        with NamedTemporaryFile(dir=folder, prefix=".writable-"):
            pass
    except OSError as error:
        raise UserError(describe_unwritable_cache(error)) from None


@contextmanager
def lock_folder(folder: Path, log: Log = ignore_message) -> Iterator[None]:
    """Hold the lock of a folder; call ``log`` if another process has it.

    Raises:
        UserError: the cache cannot be written.
    """
    lock = FileLock(f"{folder}.lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            log(f"waiting for another command that uses {folder}")
            lock.acquire()
    except OSError as error:
        raise UserError(describe_unwritable_cache(error)) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def make_temporary_folder(kind: str) -> Iterator[Path]:
    """Make a folder for this command alone and remove it at the end, with those of killed commands.

    Raises:
        UserError: the cache cannot be written.
    """
    place = locate_cache() / kind
    for lock in place.glob("*.lock"):
        with suppress(OSError, Timeout), FileLock(lock, timeout=0):
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink()
    folder = place / uuid4().hex
    with lock_folder(folder):
        try:
            folder.mkdir()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            Path(f"{folder}.lock").unlink(missing_ok=True)


def is_ready(folder: Path) -> bool:
    """Return whether a folder was made to the end."""
    return (folder / READY).is_file()


def reuse_or_make_folder(
    folder: Path, make: Callable[[Path], object], log: Log = ignore_message
) -> bool:
    """Make a folder unless it is ready; return whether it was.

    Args:
        make: fills an empty folder.
    """
    with lock_folder(folder, log):
        if is_ready(folder):
            return True
        prefix = f"making-{folder.name}-"
        # what a killed command has left
        for stale in [folder, *folder.parent.glob(f"{prefix}*")]:
            shutil.rmtree(stale, ignore_errors=True)
        target = Path(mkdtemp(prefix=prefix, dir=folder.parent))
        try:
            make(target)
            target.chmod(0o755)
            (target / READY).touch()
            os.replace(target, folder)
        except OSError as error:
            raise UserError(f"{folder} cannot be made: {error}") from None
        finally:
            shutil.rmtree(target, ignore_errors=True)
    return False

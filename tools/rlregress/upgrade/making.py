"""Make a folder once, whole or not at all; and what pip says when it cannot.

A folder is made beside its place and moved there when it is complete, under a lock that the
operating system gives back when its holder ends: an interrupted or killed command leaves nothing
that the next one could take for a finished environment, and no lock.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from filelock import FileLock, Timeout

from rlregress.errors import UserError

CACHE_VARIABLE = "RLREGRESS_CACHE"
READY = ".ready.json"
#: pip, as this process would call it.
PIP: tuple[str, ...] = (sys.executable, "-m", "pip")

Say = Callable[[str], None]


def silent(_: str) -> None:
    """Say nothing."""


def cache() -> Path:
    """Where environments are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(CACHE_VARIABLE) or Path(home) / "rlregress").expanduser().resolve()


@contextmanager
def locked(folder: Path, say: Say = silent) -> Iterator[None]:
    """Hold the lock of a folder; says so when another process has it.

    Raises:
        UserError: the cache cannot be written.
    """
    lock = FileLock(f"{folder}.lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say(f"waiting for another command that uses {folder}")
            lock.acquire()
    except OSError as error:
        raise UserError(
            f"the cache {cache()} cannot be written: {error}; name another folder in the "
            f"environment variable {CACHE_VARIABLE}"
        ) from None
    try:
        yield
    finally:
        lock.release()


def ready(folder: Path) -> dict[str, Any] | None:
    """What a finished folder says of itself, or None if it is missing or not finished."""
    try:
        found: dict[str, Any] = json.loads((folder / READY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def made(folder: Path, make: Callable[[Path], dict[str, Any]], say: Say = silent) -> bool:
    """Make a folder unless it is there; whether it was.

    Args:
        make: fills an empty folder, and returns what to note down about it.
    """
    with locked(folder, say):
        if ready(folder) is not None:
            return True
        prefix = f"making-{folder.name}-"
        # what a killed command has left
        for left in [folder, *folder.parent.glob(f"{prefix}*")]:
            shutil.rmtree(left, ignore_errors=True)
        target = Path(mkdtemp(prefix=prefix, dir=folder.parent))
        try:
            noted = make(target)
            target.chmod(0o755)
            (target / READY).write_text(json.dumps(noted), encoding="utf-8")
            os.replace(target, folder)
        except OSError as error:
            raise UserError(f"{folder} cannot be made: {error}") from None
        finally:
            shutil.rmtree(target, ignore_errors=True)
    return False


class Unreachable(UserError):
    """There is no network, and the cache does not have it."""


_UNREACHABLE = (
    "NewConnectionError", "name resolution", "Name or service not known", "ConnectTimeout",
    "Network is unreachable", "Connection refused", "Read timed out", "ProxyError",
)  # fmt: skip


def pip(options: Sequence[str], requirements: Sequence[str], python: str = "") -> None:
    """Install; into the environment of ``python`` if one is given.

    Raises:
        UserError: in one sentence, why it could not be done.
        Unreachable: there is no network.
    """
    into = ["--python", python] if python else []
    command = [*PIP, *into, "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    ended = subprocess.run(
        [*command, "--retries", "2", *options, *requirements],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise failure(ended.stderr, " ".join(requirements))


def failure(said: str, asked: str) -> UserError:
    """What pip's complaint means, in one sentence."""
    kept = "what was made before is kept"
    if any(sign in said for sign in _UNREACHABLE):
        return Unreachable(
            f"'{asked}' could not be installed: the package index cannot be reached and nothing "
            f"of it is in the cache {cache()}; try again with a network, {kept}"
        )
    none = re.search(r"No matching distribution found for ([^\n]+)", said)
    if none is not None:
        missing, known = none.group(1).strip(), re.search(r"\(from versions: ([^)]*)\)", said)
        versions = [v.strip() for v in known.group(1).split(",")] if known else []
        if not versions or versions == ["none"]:
            return UserError(
                f"'{missing}' could not be installed: the package index has no package of that "
                f"name for this Python, or cannot be reached; check the name, {kept}"
            )
        last = ", ".join(versions[-5:])
        return UserError(
            f"there is no {missing} for this Python; the package index has, last, {last}"
        )
    if "ResolutionImpossible" in said or "conflicting dependencies" in said:
        rows = re.findall(r"^ {2,}(.+ (?:depends on|requested) .+)$", said, re.MULTILINE)
        why = "; ".join(dict.fromkeys(row.strip() for row in rows[:4])) or "they contradict"
        return UserError(f"'{asked}' cannot be installed together: {why}")
    errors = [line for line in said.strip().splitlines() if line.startswith("ERROR")]
    last = (errors or said.strip().splitlines() or ["pip said nothing"])[-1]
    return UserError(f"'{asked}' could not be installed: {last.removeprefix('ERROR: ')}")

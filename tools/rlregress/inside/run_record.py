"""Run records: one JSON file per run, written by atomic rename, sealed by a checksum."""

from __future__ import annotations

import hashlib
import json
import math
import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from rlregress import files
from rlregress.errors import UserError

#: of what ``recorded_runs`` and ``baseline_runs`` read
SCHEMA = 2
#: bytes of a record, at most: that of millions of steps in the shortest episodes has a fifth
_LARGEST = 1 << 26
#: what may differ between two records of one run that have the same result
_MEASURED = ("attempt", "curve_cpu_seconds", "memory", "platform", "time")


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 over what a record says."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def finite_or_none(value: float) -> Any:
    """NaN and infinity as None: JSON has no word for them."""
    return float(value) if math.isfinite(value) else None


def write_atomically(path: Path, text: str) -> None:
    """Write so that a reader sees the old file or the whole new one, also after a crash.

    Raises:
        OSError: it cannot be written, or what is there is no file.
    """
    files.check_target(path)
    # a name that nobody else can have put there, such as a link to a file elsewhere
    temporary = path.with_name(f".{path.name[:150]}.{uuid.uuid4().hex}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with open(os.open(temporary, flags, 0o666), "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.remove(temporary)
        raise


def check_writable(folder: Path, what: str) -> None:
    """UserError unless ``what`` can be written to ``folder``, which is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder, prefix=".writable-"):
            pass
    except OSError as error:
        raise UserError(
            f"{what} cannot be written to {folder}: {error.strerror}; expected a folder that you "
            "may write to"
        ) from None


def check_file(path: Path, what: str) -> None:
    """UserError unless ``what`` can be written to the file ``path``, which need not be there."""
    try:
        files.check_target(path)
    except OSError as error:
        raise UserError(
            f"{what} cannot be written to {path}: {error.strerror}; expected the name of a file"
        ) from None
    check_writable(files.absolute(path).parent, what)


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Seal ``content`` with its checksum and write it."""
    sealed = {**content, "checksum": checksum(content)}
    write_atomically(path, json.dumps(sealed, indent=1, sort_keys=True, allow_nan=False) + "\n")


def outcome(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a run came to: the record without when, where and how fast it was made."""
    return {name: value for name, value in content.items() if name not in _MEASURED}


def read(path: Path) -> dict[str, Any]:
    """What a record says, if its seal is whole; ``recorded_runs.read`` checks what it holds too.

    Raises:
        UserError: it cannot be read, or is damaged.
    """
    try:
        text = files.read(path, largest=_LARGEST).decode("utf-8")
        content = json.loads(text, parse_constant=_no_constant)
        if not isinstance(content, dict) or "checksum" not in content:
            raise ValueError("it is something else")
        stated = content.pop("checksum")
        computed = checksum(content)
    except OSError as error:
        raise UserError(
            f"the run record {path} cannot be read: {error.strerror}; expected a file that you may "
            "read"
        ) from None
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"the run record {path} is damaged: expected one JSON object with a checksum ({error})"
        ) from None
    if stated != computed:
        raise UserError(
            f"the run record {path} is damaged: its content does not match its checksum"
        )
    return content

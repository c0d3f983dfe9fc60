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

#: version of the format that ``recorded_runs`` and ``baseline_runs`` read
SCHEMA = 2
#: the most bytes of a record: five times one of millions of steps in the shortest episodes
_LARGEST = 1 << 26
#: entries that may differ between two records of one run with the same result
_MEASURED = ("attempt", "curve_cpu_seconds", "memory", "platform", "time")


def compute_checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 over the content of a record."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _refuse_json_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def convert_non_finite_to_none(value: float) -> float | None:
    """Return a number; None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def write_text_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the whole new one, even after a crash.

    Raises:
        OSError: the file cannot be written, or the path is no file.
    """
    files.check_path_is_file_or_free(path)
    # a random name: nobody can have put a link to another file there under this name
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


def check_folder_is_writable(folder: Path, content: str) -> None:
    """Raise UserError unless a folder can be created, or written to.

    Args:
        content: the content's name in the message.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder, prefix=".writable-"):
            pass
    except OSError as error:
        raise UserError(
            f"{content} cannot be written to {folder}: {error.strerror}; expected a folder that "
            "you may write to"
        ) from None


def check_file_is_writable(path: Path, content: str) -> None:
    """Raise UserError unless a file can be written; see ``check_folder_is_writable``."""
    try:
        files.check_path_is_file_or_free(path)
    except OSError as error:
        raise UserError(
            f"{content} cannot be written to {path}: {error.strerror}; expected the name of a file"
        ) from None
    check_folder_is_writable(files.resolve_real_path(path).parent, content)


def write_record_with_checksum(path: Path, content: Mapping[str, Any]) -> None:
    """Write ``content`` with its checksum."""
    sealed = {**content, "checksum": compute_checksum(content)}
    write_text_atomically(
        path, json.dumps(sealed, indent=1, sort_keys=True, allow_nan=False) + "\n"
    )


def select_result_of_run(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a run: its record without time, place and speed."""
    return {name: value for name, value in content.items() if name not in _MEASURED}


def read_record_content(path: Path) -> dict[str, Any]:
    """Return the content of a record with a right checksum; ``recorded_runs.read`` checks more.

    Raises:
        UserError: the record cannot be read, or is damaged.
    """
    try:
        text = files.read_regular_file(path, largest=_LARGEST).decode("utf-8")
        content = json.loads(text, parse_constant=_refuse_json_constant)
        if not isinstance(content, dict) or "checksum" not in content:
            raise ValueError("it is something else")
        stated = content.pop("checksum")
        computed = compute_checksum(content)
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

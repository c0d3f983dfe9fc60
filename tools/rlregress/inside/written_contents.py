"""Reads contents of files as items that can be compared, by the type of the file.

Files are read in the process that wrote them: pickles run code when they are loaded.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import math
import os
import pickle
import re
import socket
import struct
import sys
import tempfile
import zipfile
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import torch

from rlregress.inside import events, leaves, process_tree

#: kind of file content -> what is compared of it. A table of docs/evidence.md is generated from it.
COMPARED = {
    "text, JSON": "each line",
    "`*.csv`": "each row and column, with its quotes",
    "npy, npz": "each array: numbers, type and shape",
    "zip, as of a saved agent": "each part, of whatever type",
    "torch, pickle": "each value, once the process that wrote the file has loaded it",
    "TensorBoard": "each value, with its name and step",
    "gzip": "what is packed",
    "anything else": "a digest of all bytes",
}
#: differences that are ignored, for the list on that page.
MASKED = (
    "numbers named time, t, fps, sps, seconds, elapsed, wall, ETA or t_start, fractions named "
    "`time/...`, and the padding of a text that shows one",
    "durations such as `0.2 s`, dates, times of day, seconds since 1970",
    "temporary folders, the working directory, the folders of the packages, the host",
    "addresses, UUIDs, `pid 123`, numbers of lines of Python files",
    "files `_..._version` and `system_info.txt` in a zip, and its dates",
    "progress bars, and warnings of Python and torch",
)

#: finds names of numbers that differ between any two runs.
_TIME = re.compile(
    r"(^|[_ ])(t|time|fps|sps|seconds|secs|elapsed|wall|duration|eta|date)([_ ]|$)", re.IGNORECASE
)
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBERS = re.compile(rf"(?<![\w.]){_NUMBER}(?!\w)")
#: finds a number with its name of up to four words, and the sign between them.
_NAMED = re.compile(
    rf"(?<![\w/.-])([A-Za-z][\w/.-]*(?: [\w/.-]+){{0,3}}?)([\"']?\s*[:=|]\s*)({_NUMBER})(?!\w)"
)
_MASKS = tuple(
    (re.compile(pattern), f"<{what}>")
    for pattern, what in (
        (r"\b(?:\d\d)?\d\d[-/]\d\d[-/]\d\d[T_ -]\d\d[-:]\d\d(?:[-:]\d\d)?(?:[.,_-]\d+)?", "date"),
        (r"\b[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d", "date"),
        (r"\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b", "time"),
        (r"(?<!\d)(?<!\d\.)1[6-9]\d{8}(?:\.\d+|\d{3}|\d{6}|\d{9})?(?!\d)", "time"),
        (rf"{_NUMBER}\s?(?:ms|s|sec|secs|seconds|minutes|steps/s|it/s|fps)\b", "duration"),
        (rf"\b{_UUID}\b", "UUID"),
        (r"(?<![0-9A-Za-z])0x[0-9a-fA-F]{5,}\b", "address"),
        (r"\b[pP][iI][dD][ =:]*\d+", "pid"),
        (r"(?<=\.py:)\d+|(?<=\.py\", line )\d+", "line"),
    )
)
#: finds in a file's name a time to the microsecond, as in SB3's folders of logs, or a UUID.
_UNIQUE = re.compile(rf"\d\d[-_:]?\d\d[-_:]?\d\d[-_.]\d{{6}}(?!\d)|{_UUID}")
#: finds lines of progress bars, warnings of Python with their source line, and those of torch.
_UNSTEADY = re.compile(
    r"^.*\d+%\|.*$\n?|^.*\.py:\d+: \w*Warning: .*\n(?:  .*\n)?|^\[W\d[^\]\n]*\].*\n?", re.MULTILINE
)
#: finds a cell of a CSV file, with its quotes, and the separator after it.
_CELL = re.compile(r'((?:"(?:[^"]|"")*"|[^,\r\n])*)(,|\r?\n|\r|\Z)')
#: names of parts of an SB3 archive that describe the machine and the versions that wrote it.
_SYSTEM = re.compile(r"_\w+_version|system_info\.txt")
#: lines with more characters than this are not masked.
_LONG = 20_000
#: how many levels of archives within archives are unpacked.
_DEEP = 4

#: paths of this process's temporary folders and files, which have random names.
TEMPORARY: list[str] = []

#: name of a compared item, and its leaf as in ``leaves``: kind, and words or numbers.
Item = tuple[str, tuple[str, Any]]


def is_time(name: str, value: Any) -> bool:
    """Return whether a name, such as ``time/fps``, is that of a time, or of a fraction below one.

    Whole numbers below ``time/`` are counts, such as SB3's ``time/iterations``.
    """
    first, _, last = name.rpartition("/")
    if _TIME.search(last):
        return True
    if first.partition("/")[0] != "time":
        return False
    # whatever a script logs must not fail here
    with contextlib.suppress(Exception):
        number = value.item() if hasattr(value, "item") else value
        is_written_as_fraction = isinstance(number, str) and "." in number
        number = float(number.strip('"') if isinstance(number, str) else number)
        return math.isfinite(number) and (is_written_as_fraction or number % 1 != 0)
    return False


def mask_text(text: str) -> str:
    """Return a text with masks for parts that differ in every run, such as times and paths."""
    shows_time = False

    def mask_time(match: Any) -> str:
        nonlocal shows_time
        if not is_time(match.group(1).strip(), match.group(3)):
            return str(match.group(0))
        shows_time = True
        return f"{match.group(1)}{match.group(2)}<time>"

    lines = []
    for line in _mask_folders(_UNSTEADY.sub("", text)).split("\n"):
        if len(line) <= _LONG:
            line = _NAMED.sub(mask_time, line)
            for pattern, instead in _MASKS:
                line = pattern.sub(instead, line)
        lines.append(line)
    joined = "\n".join(lines)
    # the width of a table follows its longest number
    return re.sub(r"[ \t]+|-{4,}", " ", joined) if shows_time else joined


def mask_path(path: str) -> str:
    """Return the path of a file with masks for parts that differ in every run."""
    name = _mask_folders(path)
    for pattern, instead in _MASKS:
        name = pattern.sub(instead, name)
    return re.sub(rf"(?<=[._-]){os.getpid()}(?=[._-]|$)", "<pid>", name)


@cache
def list_folder_masks() -> tuple[tuple[Any, str], ...]:
    """Return patterns of paths that differ between runs, each with its replacement."""
    paths = {os.path.abspath(path) for path in (*sys.path, sys.prefix) if path}
    packages = [(re.escape(path), "<path>") for path in sorted(paths, key=len, reverse=True)]
    folder = outer = os.path.realpath(tempfile.gettempdir())
    if process_tree.find_owner_of_temporary_folder(folder):
        # the folder of a command has the number of a process in its name
        outer = os.path.dirname(folder)
    temporary = re.escape(folder)
    random_name = temporary + "/tmp[a-z0-9_]{8}"  # noqa: S108 - a pattern
    host = re.escape(socket.gethostname())
    return tuple(
        (re.compile(pattern), instead)
        for pattern, instead in (
            (re.escape(os.getcwd()) + "/" if os.getcwd() != "/" else r"(?!)", ""),
            (random_name, "<temporary>"),
            (temporary, outer),
            *((rf"{path}(?=[/\s\"':]|$)", instead) for path, instead in packages),
            (rf"\b{host}\b" if len(host) > 3 else r"(?!)", "<host>"),
        )
    )


def is_unique_temporary_path(path: str) -> bool:
    """Return whether a path is temporary with a unique name, which no other run writes."""
    inside = path.startswith(os.path.realpath(tempfile.gettempdir()) + os.sep)
    return inside and (_mask_folders(path).startswith("<temporary>") or bool(_UNIQUE.search(path)))


def _mask_folders(text: str) -> str:
    # the longest first: a temporary folder may lie in another
    for path in sorted(TEMPORARY, key=len, reverse=True):
        text = text.replace(path, "<temporary>")
    for pattern, instead in list_folder_masks():
        text = pattern.sub(instead, text)
    return text


def list_items_of_file(file_name: str, content: bytes, depth: int = 0) -> Iterator[Item]:
    """Yield the comparable items of a file, by its format.

    Args:
        file_name: the file's name; its suffix shows whether it is a table.
    """
    try:
        yield from list(_list_items_by_format(file_name, content, depth))
    except Exception as error:  # a damaged file, or a class in it, may raise any
        digest = hashlib.blake2b(content, digest_size=8).hexdigest()
        yield "bytes", ("bytes", f"{len(content)} bytes, digest {digest}, {type(error).__name__}")


def _list_items_by_format(file_name: str, content: bytes, depth: int) -> Iterator[Item]:
    if content[:4] == b"PK\x03\x04" and depth < _DEEP:
        yield from _list_items_of_zip(content, depth)
    elif content[:2] == b"\x1f\x8b" and depth < _DEEP:
        yield from _list_items_by_format(
            file_name.rpartition(".gz")[0], gzip.decompress(content), depth + 1
        )
    elif content[:6] == b"\x93NUMPY":
        yield from _list_items_of_value("array", np.load(io.BytesIO(content), allow_pickle=True))
    elif "tfevents" in file_name:
        yield from _list_items_of_tensorboard_log(content)
    elif content[:1] == b"\x80" and content[-1:] == b".":
        # pickled by this process
        yield from _list_items_of_value("value", pickle.loads(content))  # noqa: S301
    elif content[:2] == b"\x80\x02":
        yield from _list_items_of_torch_file(content)
    else:
        text = content.decode()
        if "\0" in text:
            raise ValueError("it is no text")
        is_table = file_name.endswith((".csv", ".tsv"))
        yield from (_list_items_of_table if is_table else _list_items_of_text)(text)


def _list_items_of_text(text: str) -> Iterator[Item]:
    for number, line in enumerate(mask_text(text).split("\n"), 1):
        if line:
            yield f"line {number}", ("text", line)
    yield "end", ("text", "ends with a line break" if text[-1:] == "\n" else "")


def _list_items_of_table(text: str) -> Iterator[Item]:
    row = 1
    while text.startswith("#"):
        # a comment above the names of the columns, as of SB3's Monitor
        comment, end, text = text.partition("\n")
        yield f"row {row}", ("text", mask_text(comment + end))
        row += 1
    names: list[str] = []
    cells: list[str] = []
    for value, separator in _CELL.findall(text):
        cells.append(value)
        if separator == ",":
            continue
        if not separator and cells == [""]:
            # the end of the file
            break
        for column, cell in enumerate(cells):
            title = names[column] if column < len(names) else f"column {column + 1}"
            words = "<time>" if is_time(title, cell) else mask_text(cell)
            yield f"row {row}, {title}", ("text", words)
        yield f"row {row}, columns", ("text", f"{len(cells)}{separator!r}")
        # the first row, unless it holds numbers already
        if not names and not any(map(_NUMBERS.fullmatch, cells)):
            names = [cell.strip('"') for cell in cells]
        names = names or [f"column {n + 1}" for n in range(len(cells))]
        cells, row = [], row + 1


def _list_items_of_zip(content: bytes, depth: int) -> Iterator[Item]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        if any(name.endswith("/data.pkl") for name in names):
            yield from _list_items_of_torch_file(content)
            return
        for name in names:
            if _SYSTEM.fullmatch(name):
                continue
            inner = archive.read(name)
            if name == "data":
                parts = _list_items_of_agent_settings(inner)
            else:
                parts = list_items_of_file(name, inner, depth + 1)
            for where, leaf in parts:
                yield f"{name}: {where}", leaf


def _list_items_of_agent_settings(content: bytes) -> Iterator[Item]:
    for name, value in json.loads(content).items():
        packed = value.get(":serialized:") if isinstance(value, dict) else None
        if packed is not None:
            # pickled by this process
            value = pickle.loads(b64decode(packed))  # noqa: S301
        yield from _list_items_of_value(name, "<time>" if is_time(name, value) else value)


def _list_items_of_torch_file(content: bytes) -> Iterator[Item]:
    # pickled by this process
    value = torch.load(io.BytesIO(content), map_location="cpu", weights_only=False)  # noqa: S614
    yield from _list_items_of_value("value", value)


def _list_items_of_value(name: str, value: Any) -> Iterator[Item]:
    for path, (kind, leaf) in leaves.list_leaves(value, name).items():
        if is_time((re.findall(r"[\w/ -]+", path) or [""])[-1], leaf):
            yield path, (kind, "<time>")
        elif isinstance(leaf, np.ndarray) and leaf.ndim == 0:
            yield path, ("text", f"{kind} {leaf.item()!r}")
        else:
            yield path, (kind, mask_text(leaf) if isinstance(leaf, str) else leaf)


# -- TensorBoard: records of protocol buffers ------------------------------------------------------


def _list_items_of_tensorboard_log(content: bytes) -> Iterator[Item]:
    """Yield the values; format: tensorflow/core/util/event.proto, lib/io/record_writer.h."""
    place, counts = 0, {}  # type: int, dict[str, int]
    while place + 12 <= len(content):
        (length,) = struct.unpack_from("<Q", content, place)
        record = content[place + 12 : place + 12 + length]
        place += length + 16
        fields = _read_protobuf_fields(record)
        step = next((value for number, value in fields if number == 2), 0)
        for _, summary in (field for field in fields if field[0] == 5):
            for _, value in _read_protobuf_fields(summary):
                yield from _list_items_of_summary(_read_protobuf_fields(value), step, counts)


def _list_items_of_summary(
    fields: list[tuple[int, Any]], step: int, counts: dict[str, int]
) -> Iterator[Item]:
    tag = b"".join(value for number, value in fields if number == 1).decode()
    name = f"{tag}, step {step}"
    counts[name] = counts.get(name, 0) + 1
    name += f" (again, {counts[name]})" if counts[name] > 1 else ""
    scalars = [np.frombuffer(value, "<f4")[0:1] for number, value in fields if number == 2]
    if is_time(tag, scalars[0][0] if scalars else None):
        return
    for scalar in scalars:
        yield name, ("float32", scalar)
    for number, value in fields:
        if number > 2:
            data = value if isinstance(value, bytes) else str(value).encode()
            digest = hashlib.blake2b(data, digest_size=8).hexdigest()
            yield f"{name}, field {number}", ("bytes", digest)


def _read_protobuf_fields(message: bytes) -> list[tuple[int, Any]]:
    """Return numbers and values of the fields of a protocol buffer."""
    place = 0
    fields: list[tuple[int, Any]] = []

    def read_varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(message):
        number, kind = divmod(read_varint(), 8)
        if kind == 0:
            fields.append((number, read_varint()))
            continue
        length = {1: 8, 5: 4}.get(kind, -1)
        length = read_varint() if length < 0 else length
        fields.append((number, message[place : place + length]))
        place += length
    return fields


# -- parts of events -------------------------------------------------------------------------------

#: items of a file with a part each; the others have one part together.
_SINGLE_ITEMS = 2000
#: characters of a line that a part shows.
_SHOWN = 200


def make_event_parts(file_items: Iterator[Item]) -> dict[str, events.Part]:
    """Return the items of a file as parts of an event; see ``events``."""
    parts: dict[str, Any] = {}
    further: list[Any] = []
    for name, (kind, value) in file_items:
        if isinstance(value, np.ndarray):
            added = events.make_event_part(value, kind)
        else:
            added = _make_part_of_words_and_numbers(
                value if kind == "text" else f"{kind} {value!r}"
            )
        if len(parts) < _SINGLE_ITEMS:
            parts[name] = added
        else:
            further.append(added)
    if further:
        parts[f"the rest, {len(further)} items"] = events.join_event_parts(further)
    return parts


def _make_part_of_words_and_numbers(text: str) -> events.Part:
    """Return an event part of a text and the numbers in it, which may differ by rounding."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    numbers = [float(number) for number in _NUMBERS.findall(text[:_LONG])]
    _, norm, values, shadow, _, _ = events.make_part_of_many_arrays([np.array(numbers)])
    excerpt = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return [digest, norm if numbers else None, values, shadow, excerpt, ""]

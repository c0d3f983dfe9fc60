"""Reads recorded traces from files, and checks them."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated
from weakref import WeakValueDictionary

from pydantic import ConfigDict, Field

from rlregress import datafiles, files
from rlregress.datafiles import Line, Natural, expect_one_of, expect_value
from rlregress.errors import UserError
from rlregress.inside.events import RAISED, SCHEMA
from rlregress.model.explain import EVENTS
from rlregress.model.recorded_traces import Event, Part, Place, Trace

#: kind of event -> its parts, causes before effects.
CAUSAL = {
    "step": ("action", "observation", "reward", "flags"),
    "output": ("value", "observation", "reward", "flags", "last"),
    "final": ("parameters", "buffers"),
    "optimizer": ("size", "parameters", "gradient", "learning_rate", "update"),
}
#: the most bytes of a trace.
_LARGEST = 1 << 29
#: the most events of a trace: enough for a training of some 100 000 steps. The longest trace of the
#: suite's own trainings has 4524.
_MOST_EVENTS = 1_000_000
_REMEDY = "record it again with: rlregress trace"
#: digest of a line -> its event, kept while a trace uses it: most lines of two versions are equal,
#: and need checking, the slow part of reading, only once.
_READ: WeakValueDictionary[bytes, Event] = WeakValueDictionary()


def make_failed_trace(message: str, error: Mapping[str, str] = MappingProxyType({})) -> Trace:
    """Return a trace without events for a process that ended before it wrote one."""
    message = message or "the process ended without a trace"
    header = {"failure": message, "error": dict(error), "seeded": [], "lines": {}}
    return Trace(header=header, events=())


_Place = tuple[Line, Natural, Line]
#: the place that an event comes from, with its callers; None: outside of the traced code.
StoredCallSite = tuple[Line, Natural, Line, tuple[_Place, ...]]
#: a number; NaN and infinity stand in quotes.
_Number = Annotated[float, Field(strict=False)]
_Numbers = tuple[_Number, ...]
#: digest, norm, first values, projections, words and types of a part.
PartRow = tuple[str, _Number | None, _Numbers, _Numbers | None, str, str]


@dataclass(frozen=True, kw_only=True)
class _Row:
    """One line of a trace: an event, as ``events`` writes it."""

    kind: Annotated[str, expect_one_of(EVENTS)]
    name: Line
    at: StoredCallSite | None
    parts: Mapping[str, PartRow]
    named: Mapping[Line, PartRow] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Elsewhere:
    what: Annotated[str, expect_one_of(("process", "thread"))]
    kind: Annotated[Line, Field(alias="class")]
    file: Line
    line: Natural
    instead: Line


@dataclass(frozen=True, kw_only=True)
class _Header:
    """The fields of the first line of a trace that are read."""

    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    schema: Annotated[int, expect_value(str(SCHEMA), lambda number: number == SCHEMA)]
    failure: str
    seeded: tuple[Line, ...]
    lines: Mapping[Line, tuple[tuple[Natural, ...], tuple[Natural, ...]]]
    elsewhere: tuple[_Elsewhere, ...] = ()
    unsteady: tuple[tuple[Line, Line, Natural, str], ...] = ()
    error: Mapping[str, str] | None = None


def load_trace(path: Path) -> Trace:
    """Return the trace in a file.

    Raises:
        UserError: the file is missing, damaged, or of another version of the format.
    """
    try:
        with files.open_regular_file(path) as packed, gzip.GzipFile(fileobj=packed) as file:
            content = file.read(_LARGEST + 1)
        if not content:
            raise EOFError
        if len(content) > _LARGEST:
            raise OSError(errno.EFBIG, f"it unpacks to more than {_LARGEST} bytes")
        first, *rows = content.splitlines()
        datafiles.read_json_line(first.decode(), _Header, path, _REMEDY)
        if len(rows) > _MOST_EVENTS:
            raise OSError(errno.EFBIG, f"it has more than {_MOST_EVENTS} events; give --steps")
        events = tuple(_parse_event(number, row, path) for number, row in enumerate(rows))
        return Trace(header=json.loads(first), events=events)
    except FileNotFoundError:
        raise UserError(
            f"there is no trace {path}; record one with: rlregress trace SCRIPT -o {path}"
        ) from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UserError(
            f"the trace {path} cannot be read: {_describe_damage(error)}; {_REMEDY}"
        ) from None


def rewrite_trace_header(path: Path, trace: Trace) -> None:
    """Replace the header in the file of a trace; its events stay."""
    with gzip.open(path, "rb") as file:
        file.readline()
        rows = file.read()
    header = json.dumps(dict(trace.header), separators=(",", ":")).encode()
    path.write_bytes(gzip.compress(header + b"\n" + rows, 5))


def _describe_damage(error: Exception) -> str:
    if isinstance(error, gzip.BadGzipFile):
        return "it is not compressed with gzip, as traces are"
    if isinstance(error, OSError):
        return str(error.strerror)
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} of a line is not UTF-8"
    return "it is cut off or damaged"


def _parse_event(index: int, text: bytes, path: Path) -> Event:
    """Return the event of one line of a file; equal events of other traces are shared."""
    key = hashlib.blake2b(text, digest_size=16).digest()
    cached = _READ.get(key)
    if cached is None:
        cached = _make_event(index, datafiles.read_json_line(text.decode(), _Row, path, _REMEDY))
        _READ[key] = cached
    return cached if cached.index == index else replace(cached, index=index)


def _make_event(index: int, row: _Row) -> Event:
    order = CAUSAL.get(row.kind, tuple(row.parts))
    parts = {name: make_part_of_values(*row.parts[name]) for name in order if name in row.parts}
    event = build_event(index, row.kind, row.name, row.at, parts)
    named = {name: make_part_of_values(*part) for name, part in row.named.items()}
    return replace(event, named=named) if named else event


def build_event(
    index: int, kind: str, name: str, call_site: StoredCallSite | None, parts: Mapping[str, Part]
) -> Event:
    """Build an event from its parts in a file."""
    file, line, function, callers = call_site or ("", 0, "", ())
    event = Event(
        index=index,
        kind=kind,
        name=name,
        file=file,
        line=line,
        function=function,
        parts=parts,
        callers=tuple(Place(file=f, line=n, function=name) for f, n, name in callers),
    )
    error = event.is_result and "value" in parts and parts["value"].types == RAISED
    return replace(event, error=parts["value"].text) if error else event


def make_part_of_values(
    digest: str,
    norm: float | None,
    values: tuple[float, ...],
    shadow: tuple[float, ...] | None,
    text: str,
    types: str,
) -> Part:
    """Return a part from the six values that a file stores for it."""
    return Part(
        digest=digest,
        norm=norm,
        values=values,
        shadow=shadow or (),
        text=_join_lines(text),
        types=_join_lines(types),
    )


@lru_cache(maxsize=1 << 12)
def _join_lines(text: str) -> str:
    """Return a text in one printable line: an error of a framework may have several lines."""
    return "".join(
        character if character.isprintable() else " " for character in " ".join(text.split())
    )

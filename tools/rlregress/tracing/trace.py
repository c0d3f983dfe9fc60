"""A recorded trace, read and checked."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rlregress.errors import UserError
from rlregress.model.traces import Event, Part, Place, Trace
from rlregress.tracing.events import REFUSED, SCHEMA

#: kinds of events; see ``Event``.
KINDS = (
    "reset", "step", "output", "draw", "data", "parameters", "loss", "backward", "optimizer",
    "write", "final",
)  # fmt: skip
#: of an event, the parts in the order in which one follows from the other.
CAUSAL = {
    "step": ("action", "observation", "reward", "flags"),
    "output": ("types", "value", "observation", "reward", "flags", "last"),
    "loss": ("keys", "values"),
    "final": ("parameters", "buffers"),
    "optimizer": ("size", "parameters", "gradient", "learning_rate", "update"),
}


def failed(said: str, error: Mapping[str, str] = MappingProxyType({})) -> Trace:
    """In place of a trace, how the process that was to record it ended."""
    said = said or "the process ended without a trace"
    header = {"failure": said, "error": dict(error), "seeded": [], "lines": {}}
    return Trace(header=header, events=())


def load(path: Path) -> Trace:
    """The trace in a file.

    Raises:
        UserError: the file is missing, damaged, or of another version of the format.
    """
    if path.is_dir():
        raise UserError(
            f"{path} is a folder; expected a trace, the file that rlregress trace writes"
        )
    if not path.is_file():
        raise UserError(
            f"there is no trace {path}; record one with: rlregress trace SCRIPT -o {path}"
        )
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        if not lines:
            raise EOFError
        header, *rows = lines
        if header["schema"] != SCHEMA:
            raise UserError(
                f"the trace {path} has format {header['schema']}, expected {SCHEMA}; "
                "record it again with: rlregress trace"
            )
        for key in ("failure", "seeded", "lines"):
            header[key]
        return Trace(header=header, events=tuple(_event(n, row) for n, row in enumerate(rows)))
    except (
        OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError
    ) as error:  # fmt: skip
        raise UserError(
            f"the trace {path} cannot be read: {_reason(error)}; record it again with: rlregress "
            "trace"
        ) from None


def _reason(error: Exception) -> str:
    if isinstance(error, gzip.BadGzipFile):
        return "it is not compressed with gzip, as traces are"
    if isinstance(error, (EOFError, zlib.error)):
        return "it is cut off or damaged"
    if isinstance(error, KeyError):
        return f"it has no '{error.args[0]}'"
    if isinstance(error, (OSError, ValueError)):
        return str(error)
    return "it is something else than a trace"


def _event(index: int, row: Mapping[str, Any]) -> Event:
    if row["kind"] not in KINDS:
        raise ValueError(f"unknown kind of event '{row['kind']}'")
    file, line, function, callers = row["at"] or ("", 0, "", [])
    order = CAUSAL.get(row["kind"], tuple(row["parts"]))
    parts = {name: _part(*row["parts"][name]) for name in order if name in row["parts"]}
    made = Event(
        index=index,
        kind=row["kind"],
        name=row["name"],
        file=file,
        line=line,
        function=function,
        parts=parts,
        callers=tuple(Place(file=f, line=n, function=name) for f, n, name in callers),
    )
    refused = made.is_answer and "types" in parts and parts["types"].text == REFUSED
    return replace(made, refusal=parts["value"].text) if refused else made


def _part(
    digest: str, norm: Any, values: list[Any], shadow: list[Any] | None, text: str = ""
) -> Part:
    return Part(
        digest=digest,
        norm=None if norm is None else float(norm),
        values=tuple(float(x) for x in values),
        shadow=tuple(float(x) for x in shadow or ()),
        text=text,
    )

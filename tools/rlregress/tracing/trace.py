"""A recorded trace, read and checked."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from rlregress.errors import UserError
from rlregress.tracing.events import SCHEMA

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


@dataclass(frozen=True)
class Part:
    """A recorded value: equal digests are equal bits; the numbers explain a difference.

    Attributes:
        norm: of all numbers; None if they are none.
        values: the first ones.
        shadow: two random projections of all of them; empty where ``values`` are all of them.
        text: of a part that is words.
    """

    digest: str
    norm: float | None
    values: tuple[float, ...]
    shadow: tuple[float, ...] = ()
    text: str = ""


class Place(NamedTuple):
    """A frame of the traced code."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Event:
    """One event.

    Attributes:
        kind: "reset", "step", "output" (what a vector environment, a normaliser or a collector
            hands out), "draw", "data", "parameters", "loss" (what a loss module returns),
            "backward", "optimizer", "write", or "final", the last one, of the networks as the
            training leaves them.
        name: which one of its kind.
        file, line, function: the nearest frame of the traced code; empty and 0 if there was none.
        parts: in the order in which one follows from the other.
        callers: frames of the traced code above that one, the nearest first.
    """

    index: int
    kind: str
    name: str
    file: str
    line: int
    function: str
    parts: Mapping[str, Part]
    callers: tuple[Place, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What makes two events comparable: neither the place, which moves, nor the values."""
        # by its number: a class of another name may do the same
        numbered = self.kind in ("optimizer", "loss")
        name = self.name.rpartition(" ")[2] if numbered else self.name
        return self.kind, name

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}" if self.file else "outside of the traced code"

    @property
    def digests(self) -> tuple[str, ...]:
        """Of all parts."""
        return tuple(part.digest for part in self.parts.values())


@dataclass(frozen=True)
class Trace:
    """Everything that was recorded of one run.

    Attributes:
        header: versions, what was seeded, failure, times.
    """

    header: Mapping[str, Any]
    events: tuple[Event, ...]

    @property
    def failure(self) -> str:
        """The end of the traceback of a run that ended in an error; empty otherwise."""
        return str(self.header["failure"])

    @property
    def error(self) -> Mapping[str, str]:
        """Type, origin and places of the error that ended it; see ``errors.found``."""
        return dict(self.header.get("error") or {})

    @property
    def begun(self) -> bool:
        """Whether it has begun to train."""
        return bool(self.count("step") or self.count("optimizer"))

    @property
    def elsewhere(self) -> list[Mapping[str, Any]]:
        """Threads and processes that the training started; see ``elsewhere.Elsewhere``."""
        return list(self.header.get("elsewhere", []))

    def count(self, kind: str) -> int:
        """How many events of a kind there are."""
        return sum(event.kind == kind for event in self.events)


def failed(said: str, error: Mapping[str, str] = MappingProxyType({})) -> Trace:
    """In place of a trace, how the process that was to record it ended."""
    said = said or "the process ended without a trace"
    return Trace({"failure": said, "error": dict(error), "seeded": [], "lines": {}}, ())


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
        return Trace(header, tuple(_event(n, row) for n, row in enumerate(rows)))
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
    above = tuple(Place(*caller) for caller in callers)
    return Event(index, row["kind"], row["name"], file, line, function, parts, above)


def _part(
    digest: str, norm: Any, values: list[Any], shadow: list[Any] | None, text: str = ""
) -> Part:
    return Part(
        digest,
        None if norm is None else float(norm),
        tuple(float(x) for x in values),
        tuple(float(x) for x in shadow or ()),
        text,
    )

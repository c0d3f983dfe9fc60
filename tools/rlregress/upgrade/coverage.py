"""What an acquittal covers: which lines of the traced code the training has reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlregress.tracing.trace import Trace


@dataclass(frozen=True)
class Reached:
    """Lines of the functions that a training enters.

    Attributes:
        shares: side label -> share of executable lines reached; none where nothing was noted.
        missed: side B's files -> ranges of lines that were not reached, "12-14, 20".
    """

    shares: Mapping[str, float]
    missed: Mapping[str, str]


def reached(a: Trace, b: Trace) -> Reached:
    """What the training reached on both sides."""
    shares = {}
    for label, side in (("A", a), ("B", b)):
        rows = side.header["lines"].values()
        executable = sum(len(every) for _, every in rows)
        if executable:
            shares[label] = sum(len(hit) for hit, _ in rows) / executable
    missed = {
        file: ranges(set(every) - set(hit))
        for file, (hit, every) in sorted(b.header["lines"].items())
    }
    return Reached(shares, {file: text for file, text in missed.items() if text})


def ranges(lines: set[int]) -> str:
    """Line numbers as ranges."""
    found: list[list[int]] = []
    for line in sorted(lines):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)

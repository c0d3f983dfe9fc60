"""What an acquittal covers: which lines of the algorithm the built-in training has reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side
from rlregress.upgrade import asking

#: file below its root -> lines reached, and all lines of the functions that were entered.
Lines = Mapping[str, tuple[set[int], set[int]]]


@dataclass(frozen=True)
class Reached:
    """Lines of the functions that the built-in training enters.

    Attributes:
        shares: side label -> share of executable lines reached.
        missed: side B's files -> ranges of lines that were not reached, "12-14, 20".
    """

    shares: Mapping[str, float]
    missed: Mapping[str, str]


def lines(side: Side, adapter: Adapter, algorithm: str, kept: Path) -> Lines:
    """File -> lines reached, and lines of the functions that were entered, on one side.

    Empty where the training ends in an error.
    """
    job = {"framework": adapter.full_name, "algorithm": algorithm, "seed": 0}
    try:
        found = asking.ask(side, "rlregress.tracing.lines", job, kept)
    except UserError:
        return {}
    return {file: (set(hit), set(every)) for file, (hit, every) in found.items()}


def reached(a: Lines, b: Lines) -> Reached:
    """What the training reached on both sides; a side that was not measured has no share."""
    shares = {}
    for label, side in (("A", a), ("B", b)):
        executable = sum(len(every) for _, every in side.values())
        if executable:
            shares[label] = sum(len(hit) for hit, _ in side.values()) / executable
    missed = {file: ranges(every - hit) for file, (hit, every) in sorted(b.items())}
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

"""``rlregress trace``: what was recorded, in words."""

from __future__ import annotations

from pathlib import Path

from rlregress.model import explain
from rlregress.model.explain import Repeated


def recorded(repeated: Repeated, output: Path, size: int) -> list[str]:
    """What a trace of so many bytes holds, and whether it repeats itself."""
    trace = repeated.trace
    counts = explain.counts(trace)
    return [
        f"{output}: {len(trace.events)} events ({counts}), {size / 1024:.0f} KiB",
        *repeated.lines(),
        "it repeats itself to the bit" if repeated.repeats else "it proves nothing",
    ]

"""``rlregress faults``: the table of seeded faults and what they moved."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rlregress.gate import seeding
from rlregress.gate.faults import Seen, chosen


def _line(seen: Seen) -> str:
    moved = "; ".join(
        f"{id}: " + ", ".join(f"{found} [{scope}]" for scope, found in scopes.items())
        for id, scopes in sorted(seen.changed.items())
    )
    said = "seen" if seen.detected else "NOT AS EXPECTED"
    line = f"{said:<16}{seen.fault.name}: {moved or 'nothing moved'}"
    if not seen.detected:
        expected = sorted({*seen.fault.turns, *seen.fault.also})
        line += f" (expected: {', '.join(expected)}; {seen.fault.turns[0]}: {seen.fault.finds})"
    return line


def show(frameworks: Sequence[str], names: Sequence[str], workers: int) -> bool:
    """Seed, probe and print, fault by fault; whether all of them were seen as expected."""
    pairs = chosen(frameworks, names)

    seen: list[Seen] = []
    for framework in frameworks:
        faults = [fault for of, fault in pairs if of == framework]
        if not faults:
            continue
        for found in seeding.seed(framework, faults, workers or os.cpu_count() or 1):
            print(f"{framework} {_line(found)}", flush=True)
            seen.append(found)
    detected = sum(found.detected for found in seen)
    print(f"{detected} of {len(seen)} seeded faults were seen as expected")
    return detected == len(seen)

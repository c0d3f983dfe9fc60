"""How far the waves of a gate have come."""

from __future__ import annotations

from rlregress.gate.waves import Standing, Wave
from rlregress.model.verdict import HOLDS, IMPROVED, INCONCLUSIVE, MOVED, REGRESSED


def wave(of: Wave) -> str:
    """Which runs come next."""
    return (
        f"wave {of.number} of at most {of.of}: {len(of.jobs)} runs of {of.cells} undecided cells, "
        f"{len(of.left)} of them to do"
    )


def standing(of: Standing | None) -> list[str]:
    """What the waves so far say; nothing before the first is judged."""
    if of is None:
        return []
    lines = [
        f"{name} regressed: {verdict.reason}"
        for name, verdict in of.verdicts.items()
        if verdict.verdict == REGRESSED
    ]
    found = [verdict.verdict for verdict in of.verdicts.values()]
    counted = [
        f"{found.count(word)} {word}"
        for word in (REGRESSED, IMPROVED, MOVED, HOLDS, INCONCLUSIVE)
        if word in found
    ]
    said = ", ".join(counted) or "nothing is decided"
    more = f"; undecided: {', '.join(of.undecided)}" if of.undecided else ""
    return [*lines, f"after wave {of.look}: {said}{more}"]

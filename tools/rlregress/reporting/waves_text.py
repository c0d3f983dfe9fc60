"""How far the waves of a gate have come."""

from __future__ import annotations

from rlregress.model.planned_session import Standing
from rlregress.model.verdict import HOLDS, IMPROVED, INCONCLUSIVE, MOVED, REGRESSED


def wave(number: int, most: int, runs: int, cells: int, left: int) -> str:
    """Which runs come next: how many, of how many cells, and how many of them are to be done."""
    return (
        f"wave {number} of at most {most}: {runs} runs of {cells} undecided cells, "
        f"{left} of them to do"
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
    text = ", ".join(counted) or "nothing is decided"
    more = f"; undecided: {', '.join(of.undecided)}" if of.undecided else ""
    return [*lines, f"after wave {of.look}: {text}{more}"]

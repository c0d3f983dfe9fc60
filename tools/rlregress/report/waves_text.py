"""Texts on the progress of the waves of a check."""

from __future__ import annotations

from rlregress.model.planned_session import InterimVerdicts
from rlregress.model.verdict import HOLDS, IMPROVED, INCONCLUSIVE, MOVED, REGRESSED


def describe_next_wave(wave: int, last: int, runs: int, cells: int, remaining: int) -> str:
    """Describe the next runs: their number, their cells, and those that are not done."""
    return (
        f"wave {wave} of at most {last}: {runs} runs of {cells} undecided cells, "
        f"{remaining} of them to do"
    )


def describe_verdicts_of_waves(state: InterimVerdicts | None) -> list[str]:
    """Describe the verdicts of the waves so far; empty before the first is judged."""
    if state is None:
        return []
    lines = [
        f"{name} regressed: {verdict.reason}"
        for name, verdict in state.verdicts.items()
        if verdict.verdict == REGRESSED
    ]
    words_found = [verdict.verdict for verdict in state.verdicts.values()]
    count_text = [
        f"{words_found.count(word)} {word}"
        for word in (REGRESSED, IMPROVED, MOVED, HOLDS, INCONCLUSIVE)
        if word in words_found
    ]
    text = ", ".join(count_text) or "nothing is decided"
    ending = f"; undecided: {', '.join(state.undecided)}" if state.undecided else ""
    return [*lines, f"after wave {state.look}: {text}{ending}"]

"""What a session would do, before it does it."""

from __future__ import annotations

import os

from rlregress.gate.judging import smallest_common_drop, smallest_visible_drop
from rlregress.gate.selection import Selection
from rlregress.gate.session import open_session


def lines(selection: Selection, seeds: int, workers: int, store: str) -> list[str]:
    """One line per cell, then the sums."""
    session = open_session(selection, seeds, store)
    processes = workers or os.cpu_count() or 1
    made = [f"{session.describe()}, {processes} at a time"]
    for cell in session.cells:
        made += [f"  {said}; its run is done again" for said in session.damaged(cell)]
        made.append(f"  {cell.id}: {len(session.undone(cell))} of {session.seeds} runs to do")
        if session.judged:
            seconds = session.estimated_seconds(cell)
            drop = smallest_visible_drop(session, cell)
            seen = "no drop can be seen" if drop is None else f"sees a drop of {drop:.0%}"
            if cell in session.bands:
                made[-1] += f", {seconds:.0f} CPU seconds each; against a published band"
                continue
            made[-1] += f", {seconds:.0f} CPU seconds each; {seen} with 80 % power"
    for group in session.groups():
        drop = smallest_common_drop(session, group)
        seen = "no common drop can be seen" if drop is None else f"sees a common drop of {drop:.0%}"
        made.append(f"  {group}, its cells together: {seen} with 80 % power")
    if session.judged:
        total = session.seconds_to_do() / 60
        made.append(f"in all {total:.1f} core-minutes, about {total / processes:.1f} minutes")
    return made

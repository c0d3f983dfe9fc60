"""The last lines of ``rlregress upgrade``: the report, the user's own files, the verdict."""

from __future__ import annotations

from pathlib import Path

from rlregress.model import differences as model
from rlregress.model.recorded_traces import Traced
from rlregress.model.upgrade_result import Upgrade


def last_lines(result: Upgrade, folder: Path, width: int | None = None) -> list[str]:
    """Where the report is, what became of the user's script if there is one, and the verdict.

    Args:
        width: columns that the verdict has; None: it gives all reasons.
    """
    head = f"verdict {result.a.text} -> {result.b.text}: "
    first = f"{result.verdict}: {result.judgement.first_reason}"
    reasons = [result.judgement.headline, *([first, result.verdict] if width is not None else [])]
    fitting = (reason for reason in reasons if len(head + reason) <= (width or len(head + reason)))
    return [
        f"report: {folder / 'upgrade.html'}",
        *of_own_files(result),
        head + next(fitting, reasons[-1]),
    ]


def of_own_files(result: Upgrade) -> list[str]:
    """What became of the user's script, or of the user's file and the episodes of its agent."""
    if result.script is not None:
        held = result.script.held
        script = f" {held.name}: {held.word}" if isinstance(held, Traced) else f": {held}"
        return [f"your script{script}"]
    unplayed = {model.CANNOT: "it played no episodes"}
    named_none = "it played no episodes, as --environment names none"
    return [
        f"your file {entry.name}: {entry.state}: {entry.reason}; "
        f"{'; '.join(entry.notes) or unplayed.get(entry.state, named_none)}"
        for entry in result.entries
        if entry.kind == model.SAVED and entry.name == result.file
    ]

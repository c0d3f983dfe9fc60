"""The last lines of ``rlregress upgrade``: the report, the user's own files, the verdict."""

from __future__ import annotations

from pathlib import Path

from rlregress.model import differences as model
from rlregress.model.recorded_traces import ComparedTraining
from rlregress.model.upgrade_result import Upgrade


def make_closing_lines_of_upgrade(
    result: Upgrade, folder: Path, width: int | None = None
) -> list[str]:
    """Return the path of the report, the result of the user's script, and the verdict.

    Args:
        width: columns that the verdict has; None: it gives all reasons.
    """
    head = f"verdict {result.old.text} -> {result.new.text}: "
    first = f"{result.verdict}: {result.judgement.first_reason}"
    reasons = [result.judgement.headline, *([first, result.verdict] if width is not None else [])]
    fitting = (reason for reason in reasons if len(head + reason) <= (width or len(head + reason)))
    return [
        f"report: {folder / 'upgrade.html'}",
        *describe_results_of_user_files(result),
        head + next(fitting, reasons[-1]),
    ]


def describe_results_of_user_files(result: Upgrade) -> list[str]:
    """Describe the result of the user's script, file or recorded episodes."""
    if result.script is not None:
        script_result = result.script.training
        script = (
            f" {script_result.name}: {script_result.verdict_in_words}"
            if isinstance(script_result, ComparedTraining)
            else f": {script_result}"
        )
        return [f"your script{script}"]
    unplayed = {model.CANNOT: "it played no episodes"}
    named_none = "it played no episodes, as --environment names none"
    return [
        f"your file {entry.name}: {entry.state}: {entry.reason}; "
        f"{'; '.join(entry.notes) or unplayed.get(entry.state, named_none)}"
        for entry in result.entries
        if entry.kind == model.SAVED and entry.name == result.file
    ]

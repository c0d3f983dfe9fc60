"""The return gate on side B, for algorithms whose traces have parted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rlregress import suite
from rlregress.frameworks.base import Adapter
from rlregress.gate import baseline
from rlregress.tracing.run import Side

_VERDICTS = {0: "holds", 1: "regressed", 2: "could not judge", 3: "inconclusive"}


@dataclass(frozen=True)
class Verdict:
    """What the trainings say.

    Attributes:
        lines: one for each cell and group, with effect, seeds and error rate.
    """

    verdict: str
    lines: tuple[str, ...]
    report: Path | None = None


def judge(adapter: Adapter, algorithms: Sequence[str], side: Side, report: Path) -> Verdict | None:
    """Train the diverged algorithms on a side and judge their returns by the stored runs.

    None where nothing is stored of any of them, or where the side is an environment of its own,
    in which this library is not installed.
    """
    stored = {
        found.cell.algorithm
        for found in baseline.every()
        if found.cell.framework == adapter.name and found.cell.budget == "short"
    }
    chosen = [name for name in algorithms if name in stored]
    if not chosen or side.python != sys.executable:
        return None
    command = [side.python, "-m", "rlregress.cli", "gate", "--framework", adapter.name]
    command += [
        "--algorithm",
        ",".join(chosen),
        "--cells",
        "all",
        "--report",
        str(report.resolve()),
    ]
    environment = side.environment()
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    ended = subprocess.run(
        command, env=environment, cwd=suite.root(), capture_output=True, text=True, check=False
    )
    return Verdict(_VERDICTS.get(ended.returncode, "could not judge"), _lines(report), report)


def _lines(report: Path) -> tuple[str, ...]:
    try:
        found = json.loads((report / "verdict.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return tuple(str(line) for line in found.get("lines", ()))

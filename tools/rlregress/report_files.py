"""The files of a report of the gate, whoever asked for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlregress.gate import evidence, night
from rlregress.gate.outcome import GateResult
from rlregress.reporting import gate as gate_report
from rlregress.reporting import summary
from rlregress.reporting.html import gate as page
from rlregress.training.record import write_atomically


def judged(result: GateResult, entries: Sequence[dict[str, Any]], folder: Path) -> str:
    """Write the page, ``summary.md`` and what machines read; the text of the summary.

    Args:
        entries: the evidence.
    """
    text = summary.markdown(result)
    write_atomically(folder / "report.html", page.page(result))
    write_atomically(folder / "summary.md", text)
    data = json.dumps(evidence.plain(gate_report.as_json(result)), indent=1)
    write_atomically(folder / "verdict.json", data + "\n")
    of_night = json.dumps(night.of_gate(result, entries), separators=(",", ":"))
    write_atomically(folder / night.FILE, of_night + "\n")
    return text


def write(result: GateResult, entries: Sequence[dict[str, Any]], folder: Path) -> None:
    """Write what is judged, and the evidence that it rests on."""
    evidence.write(folder / "evidence.json", list(entries))
    judged(result, entries, folder)

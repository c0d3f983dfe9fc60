"""What ``rlregress check`` comes to, as plain data and in its last lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlregress import __version__
from rlregress.model.gate import Extent, GateResult
from rlregress.reporting import words

SCHEMA = 1


def as_json(result: GateResult) -> dict[str, Any]:
    """``verdict.json``."""
    return {
        "schema": SCHEMA,
        "rlregress": __version__,
        "exit_code": result.exit_code,
        "unjudged": result.unjudged,
        "notes": list(result.notes),
        "started": result.shown.started,
        "command": result.shown.command,
        "machine": result.shown.machine,
        "extent": {name: asdict(of) for name, of in result.shown.extent.items()},
        "alpha": result.alpha,
        "budget": result.budget,
        "seconds": result.seconds,
        "versions": result.versions,
        "sources": result.sources,
        "changed_copies": result.copies,
        "frameworks": {each.framework: asdict(each) for each in result.outcomes},
    }


def verdict_lines(result: GateResult) -> list[str]:
    """One for each framework."""
    lines = []
    for each in result.outcomes:
        missing = words.asked(each.details, each.not_asked) if each.not_asked else ""
        of = result.shown.extent.get(each.framework, Extent())
        said = "; ".join(filter(None, (missing, words.extent(of))))
        why = f" ({said})" if said else ""
        lines.append(f"verdict {each.framework}: {each.verdict}{why}")
    return lines

"""What ``rlregress gate`` comes to, as plain data and in its last lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlregress import __version__
from rlregress.gate.outcome import GateResult

SCHEMA = 1


def as_json(result: GateResult) -> dict[str, Any]:
    """``verdict.json``."""
    return {
        "schema": SCHEMA,
        "rlregress": __version__,
        "exit_code": result.exit_code,
        "unjudged": result.unjudged,
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
    return [f"verdict {each.framework}: {each.verdict}" for each in result.outcomes]

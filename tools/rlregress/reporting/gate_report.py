"""What ``rlregress check`` comes to, as plain data and in its last lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlregress import __version__
from rlregress.model.gate_result import AlgorithmCoverage, GateResult
from rlregress.model.verdict import HOLDS
from rlregress.reporting import summary, words

SCHEMA = 1


def as_json(result: GateResult) -> dict[str, Any]:
    """``verdict.json``."""
    return {
        "schema": SCHEMA,
        "rlregress": __version__,
        "exit_code": result.exit_code,
        "unjudged": result.unjudged,
        "notes": list(result.notes),
        "started": result.report_data.started,
        "command": result.report_data.command,
        "machine": result.report_data.machine,
        "extent": {name: asdict(of) for name, of in result.report_data.coverage.items()},
        "alpha": result.alpha,
        "budget": result.budget,
        "seconds": result.seconds,
        "versions": result.versions,
        "sources": result.sources,
        "changed_copies": result.copies,
        "frameworks": {outcome.framework: asdict(outcome) for outcome in result.outcomes},
    }


def verdict_lines(result: GateResult) -> list[str]:
    """One for each framework."""
    lines = []
    for outcome in result.outcomes:
        missing = (
            words.details_probed(outcome.details, outcome.not_asked) if outcome.not_asked else ""
        )
        of = result.report_data.coverage.get(outcome.framework, AlgorithmCoverage())
        lacking = "; ".join(
            (*words.lacking(outcome.lacking), *words.not_loaded(outcome.not_loaded))
        )
        numbers = summary.OTHER_NUMBERS if outcome.has_other_numbers else ""
        holds = numbers if outcome.verdict == HOLDS else ""
        text = "; ".join(filter(None, (holds, lacking, missing, words.algorithm_coverage(of))))
        why = f" ({text})" if text else ""
        lines.append(f"verdict {outcome.framework}: {outcome.verdict}{why}")
    return lines

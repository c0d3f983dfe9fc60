"""The result of ``rlregress check``: as plain data, in words, and in its last lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlregress import __version__
from rlregress.model.check_result import AlgorithmCoverage, CheckResult, FrameworkOutcome
from rlregress.model.verdict import COULD_NOT_JUDGE, FORMULAS_HOLD, HOLDS, REPRODUCED
from rlregress.report import words

SCHEMA = 1
#: the tests of all details
TESTS_OF_DETAILS = "tests_unit/test_details.py"
#: new seeds that neither the stored runs nor a default check has
CONFIRM_SEED = 2000
CONFIRM = f"--first-seed {CONFIRM_SEED}"
#: meaning of ``holds`` if a replay differs
OTHER_NUMBERS = "other numbers; returns hold"
MEANING = {
    FORMULAS_HOLD: "formulas and behaviour are as documented",
    REPRODUCED: "formulas and behaviour are as documented, and the replayed runs have the stored "
    "numbers to the last bit",
    "holds": "nothing changed that this check can detect",
    "improved": "returns rose, a critic predicts better, or training became faster or smaller; "
    "this is a change too, explain it",
    "moved": "what a framework logs about its updates changed; this is a change too, explain it",
    "regressed": "something is worse, or no longer as documented",
    "inconclusive": "the data cannot tell",
    COULD_NOT_JUDGE: "too little was checked for a verdict",
}
#: meaning of a verdict if trainings ran whose budget is not judged
UNJUDGED_BUDGET = (
    "formulas and behaviour passed; trainings of this budget run, and no returns are judged"
)


def convert_check_to_plain_data(result: CheckResult) -> dict[str, Any]:
    """Return the content of ``verdict.json``."""
    return {
        "schema": SCHEMA,
        "rlregress": __version__,
        "exit_code": result.exit_code,
        "unjudged": result.unjudged,
        "notes": list(result.notes),
        "started": result.report_data.started,
        "command": result.report_data.command,
        "machine": result.report_data.machine,
        "extent": {
            name: asdict(coverage) for name, coverage in result.report_data.coverage.items()
        },
        "alpha": result.alpha,
        "budget": result.budget,
        "seconds": result.seconds,
        "versions": result.versions,
        "sources": result.sources,
        "changed_copies": result.copies,
        "frameworks": {outcome.framework: asdict(outcome) for outcome in result.outcomes},
    }


def describe_verdict(outcome: FrameworkOutcome) -> str:
    """Return the meaning of a framework's verdict, in words."""
    if outcome.has_no_verdicts:
        return UNJUDGED_BUDGET
    if outcome.verdict == HOLDS and outcome.has_differing_replay:
        return OTHER_NUMBERS
    return MEANING[outcome.verdict]


def format_verdict_of_each_framework(result: CheckResult) -> list[str]:
    """Return one line for each framework."""
    lines = []
    for outcome in result.outcomes:
        missing = (
            words.describe_checked_details(outcome.details, outcome.not_asked)
            if outcome.not_asked
            else ""
        )
        coverage = result.report_data.coverage.get(outcome.framework, AlgorithmCoverage())
        lacking = "; ".join(
            (
                *words.describe_skipped_for_packages(outcome.lacking),
                *words.describe_files_not_loaded(outcome.not_loaded),
            )
        )
        numbers = OTHER_NUMBERS if outcome.has_differing_replay else ""
        holds = numbers if outcome.verdict == HOLDS else ""
        text = "; ".join(
            filter(None, (holds, lacking, missing, words.describe_algorithm_coverage(coverage)))
        )
        why = f" ({text})" if text else ""
        lines.append(f"verdict {outcome.framework}: {outcome.verdict}{why}")
    return lines

"""The readable summary of a gate: Markdown, as it also stands on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlregress.model.gate_result import AlgorithmCoverage, FrameworkOutcome, GateResult
from rlregress.model.quantities import cell_of
from rlregress.model.verdict import COULD_NOT_JUDGE, FORMULAS_HOLD, HOLDS, REPRODUCED
from rlregress.reporting import descriptive_text, grouped_failures, harmless, throughput_text, words

#: where every detail is asked.
TESTS_OF_DETAILS = "tests_unit/test_details.py"
#: new seeds that neither the stored runs nor a default gate has
CONFIRM_SEED = 2000
CONFIRM = f"--first-seed {CONFIRM_SEED}"
#: of returns that hold where a replay differs
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
#: in place of that, where trainings ran and their budget is not judged.
UNJUDGED_BUDGET = (
    "formulas and behaviour passed; trainings of this budget run, and no returns are judged"
)


def meaning(outcome: FrameworkOutcome) -> str:
    """Return what the verdict of a framework says, in words."""
    if outcome.has_no_verdicts:
        return UNJUDGED_BUDGET
    if outcome.verdict == HOLDS and outcome.has_other_numbers:
        return OTHER_NUMBERS
    return MEANING[outcome.verdict]


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tests(outcome: FrameworkOutcome) -> str:
    parts = []
    for tier, counts in outcome.tests.items():
        text = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        parts.append(f"{tier}: {text}")
    return "; ".join(parts)


def _missing(outcome: FrameworkOutcome) -> list[str]:
    """What nothing is known of, before what is."""
    missing = [*words.lacking(outcome.lacking), *words.not_loaded(outcome.not_loaded)]
    lines = [of for line in missing for of in (f"{_begun(line)}.", "")]
    if not outcome.not_asked:
        return lines
    text = words.details_probed(outcome.details, outcome.not_asked)
    hint = "" if outcome.lacking else f" Check them: rlregress test {TESTS_OF_DETAILS}."
    return [*lines, f"{text}.{hint}", ""]


def _coverage(result: GateResult, outcome: FrameworkOutcome) -> list[str]:
    """Of which algorithms returns were not judged, before what is."""
    text = words.algorithm_coverage(
        result.report_data.coverage.get(outcome.framework, AlgorithmCoverage())
    )
    return [f"Judged, {text}.", ""] if text else []


def _critics_alone(outcome: FrameworkOutcome) -> list[str]:
    """What is worse, where no return is known to be."""
    if not outcome.critics_alone:
        return []
    named = ", ".join(outcome.critics_alone)
    return [f"What got worse is the critic; no return is `regressed`: {named}.", ""]


def _failed(head: str, failures: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for group in grouped_failures.together(failures, lambda failure: str(failure["message"])):
        names = [f"`{failure['test']}`" for failure in group]
        lines += [f"{head}: {names[0]}", "", *harmless.quoted(str(group[0]["message"])), ""]
        if text := grouped_failures.others(names):
            lines += [f"{text}.", ""]
    return lines


def _when(result: GateResult) -> list[str]:
    report_data = result.report_data
    if not report_data.started:
        return []
    return [
        f"{report_data.started}, {result.seconds:.0f} s, on {report_data.machine}: "
        f"`{report_data.command}`",
        "",
    ]


def markdown(result: GateResult) -> str:
    """The summary: verdict first, then what it rests on, failures in full."""
    lines = ["# Gate", "", *_when(result)]
    for outcome in result.outcomes:
        installed = ", ".join(f"{k} {v}" for k, v in result.versions[outcome.framework].items())
        lines += [
            f"## {outcome.framework}: {outcome.verdict}",
            "",
            *_missing(outcome),
            *_coverage(result, outcome),
            f"{_begun(meaning(outcome))}. Judged: {installed}.",
            "",
            *_critics_alone(outcome),
            f"Tests: {_tests(outcome) or 'none'}.",
            "",
        ]
        for module, place in result.copies[outcome.framework].items():
            lines += [f"Not the installed files: `{module}` was imported from `{place}`.", ""]
        lines += _failed("Failed", outcome.failures)
        if outcome.verdict == FORMULAS_HOLD:
            lines += ["Returns were not judged: none of its cells was trained here.", ""]
        if outcome.replays:
            lines += ["Replays:", "", *(f"- {line}" for line in words.replays(outcome.replays)), ""]
        if outcome.verdicts:
            lines += ["Returns, and what is judged beside them:", ""]
            for name, verdict in sorted(outcome.verdicts.items()):
                lines += [f"- {words.line(name, verdict)}", f"  - {verdict['reason']}"]
                runs = result.report_data.runs.get(cell_of(name))
                lines += [
                    f"  - {sentence}" for sentence in descriptive_text.lines(name, verdict, runs)
                ]
            lines += [f"- {sentence}" for sentence in words.not_judged(outcome.not_judged)]
            lines.append("")
        if outcome.old_files:
            found = [f"- {line}" for line in words.old_files(outcome.old_files)]
            lines += ["Files of past releases:", "", *found, ""]
        if outcome.throughput:
            measured = {
                (outcome.framework, of): of_pair for of, of_pair in outcome.throughput.items()
            }
            lines += ["Throughput and memory:", "", *throughput_text.lines(measured), ""]
        if any(verdict["verdict"] == "regressed" for verdict in outcome.verdicts.values()):
            lines += [f"Confirm with fresh seeds: rlregress check {CONFIRM}.", ""]
    lines += _failed("The suite itself failed", result.broken)
    if result.unjudged:
        lines += [f"No verdict could be reached on: {', '.join(result.unjudged)}.", ""]
    for note in result.notes:
        lines += [f"Note: {note}.", ""]
    if any(
        words.has_stored(of) for outcome_ in result.outcomes for of in outcome_.verdicts.values()
    ):
        lines += ["To read these lines:", "", *(f"- {sentence}" for sentence in words.LEGEND), ""]
    if result.error_rate is not None:
        lines.append(
            f"Error rate: if nothing changed, returns or critics of some framework are called "
            f"`regressed` in at most {words.rate(result.error_rate)} of such checks. Every line "
            "above names the loss that it would have detected with 80 % power; a smaller one may "
            "be there."
        )
    return "\n".join(lines) + "\n"

"""The result of a bisection, in words and as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlregress.model.bisect_result import SAME, BisectResult, SymptomChange
from rlregress.report import words

#: most functions that are printed
_SHOWN = 5
#: up to this many differing functions are printed with their lines, even if none is the culprit
_FEW = 3


def format_bisect_report(result: BisectResult) -> list[str]:
    """Return the lines of the report; the answer comes last."""
    text = [f"{result.symptom}: {result.values[0]} (old), {result.values[1]} (new)"]
    text += [f"not searched: {unsearched_part}" for unsearched_part in result.unsearched]
    text += [f"skipped {name}: {why}" for name, why in result.skipped]
    for rows in dict.fromkeys(rows for _, rows in result.apart):
        apart_text = ", ".join(name for name, its in result.apart if its == rows)
        text.append(f"checked with {rows}: {apart_text}")
    for step in result.steps:
        text += ["", *_describe_step_between_versions(step)]
    count_text = words.format_count(result.candidates, "version")
    if result.checked > result.candidates:
        # sets of packages were checked as well, and count as versions
        text += ["", f"checked {words.format_count(result.checked, 'version')}"]
    else:
        text += ["", f"checked {result.checked} of {count_text}"]
    if result.verdict == SAME and result.why:
        text.append(f"it failed in both: {result.why}")
    return [*text, describe_first_version_with_change(result)]


def _describe_step_between_versions(step: SymptomChange) -> list[str]:
    date = f" ({step.date})" if step.date else ""
    text = [
        f"{_name_version_of_step(step, step.old)} -> {_name_version_of_step(step, step.new)}{date}"
    ]
    if step.back:
        text.append(
            f"  going back, as OLD is the newer version: {_name_version_of_step(step, step.old)} "
            "brought it"
        )
    text.append(f"  before: {step.values[0]}")
    text.append(f"  after: {step.values[1]}")
    if step.between:
        text.append(f"  could not be checked between them: {', '.join(step.between)}")
    text += [f"  {line}" for line in (step.apart, step.merged) if line]
    text += [f"  {line}" for line in (*step.first, *step.culprit)]
    if step.unexplained:
        text.append(f"  the change could not be explained: {step.unexplained}")
    if step.functions and not step.explains:
        text.append("  no single function is known to explain it; these differ:")
    with_lines = step.explains or len(step.functions) <= _FEW
    for function in step.functions[:_SHOWN]:
        text.append(f"  {function.place}")
        text += [f"      {line}" for line in function.lines] if with_lines else []
    if len(step.functions) > _SHOWN:
        text.append(f"  and {len(step.functions) - _SHOWN} more in bisect.json")
    text += [f"  changelog: {entry}" for entry in step.changelog]
    if step.package and not step.changelog:
        page = f"https://pypi.org/project/{step.package}/{step.new}/"
        text.append(f"  changelog: no entry known; the release's page is {page}")
    return text


def _name_version_of_step(step: SymptomChange, version: str) -> str:
    return f"{step.package} {version}" if step.package else version


def describe_first_version_with_change(result: BisectResult) -> str:
    """Return the last line: the first version with the change."""
    if result.verdict == SAME:
        ending = ", of what was searched" if result.unsearched else ""
        return f"no difference: {result.symptom} is the same in both versions{ending}"
    answers = []
    for step in result.steps:
        name = _name_version_of_step(step, step.new)
        if step.between or step.apart:
            answers.append(f"after {_name_version_of_step(step, step.old)} and up to {name}")
        else:
            answers.append(name)
    if len(result.together) > 1:
        return f"first changed by these together: {', '.join(answers)}"
    return f"first changed in: {'; '.join(answers)}"


def convert_bisect_to_plain_data(result: BisectResult) -> dict[str, Any]:
    """Return the result as plain data."""
    return {"verdict": result.verdict, **asdict(result)}

"""Formats for code hosts: annotations, comments and summaries.

GitHub: "Workflow commands" (at most 10 annotations of a kind for each step), "Adding a job
summary" (1 MiB for each step), the length of a comment (65 536 characters). GitLab: "Unit test
reports".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from rlregress import __version__
from rlregress.model import differences as model
from rlregress.model.upgrade_result import Upgrade
from rlregress.model.verdict import COULD_NOT_JUDGE, INCONCLUSIVE, REGRESSED
from rlregress.report import harmless
from rlregress.report.upgrade_findings import ERROR, LEVELS, NOTICE, WARNING, Finding

#: level -> that of SARIF
_SARIF_LEVELS = {ERROR: "error", WARNING: "warning", NOTICE: "note"}
#: verdicts on entries by which a unit test fails, and is skipped
_FAILURES = (REGRESSED, model.NEW_FAILS, model.CHANGED)
_UNKNOWN = (model.PARTLY, COULD_NOT_JUDGE, INCONCLUSIVE)
#: annotations of one kind that GitHub shows for one step
MOST = 10
#: bytes of the summary of one step
SUMMARY = 1024 * 1024
#: characters of a comment
COMMENT = 65_536
#: marks in the comments of checks and upgrades, by which an earlier comment is found
GATE, UPGRADE = "<!-- rlregress gate -->", "<!-- rlregress upgrade -->"


def format_annotations(findings: Sequence[Finding]) -> list[str]:
    """Return GitHub's workflow commands, at most 10 of a kind; the last one counts the others."""
    lines = []
    for level in LEVELS:
        same_level = [finding for finding in findings if finding.level == level]
        shown = same_level if len(same_level) <= MOST else same_level[: MOST - 1]
        lines += [_format_annotation(finding) for finding in shown]
        if shown != same_level:
            text = f"{len(same_level) - len(shown)} more are in the report"
            lines.append(_format_annotation(Finding(level, "", "rlregress", text)))
    return lines


def _format_annotation(finding: Finding) -> str:
    place = {"file": finding.file, "line": str(finding.line)} if finding.file else {}
    return harmless.format_workflow_command(
        finding.level, {**place, "title": finding.title}, finding.message
    )


def _digest_finding(finding: Finding) -> str:
    text = "\0".join([finding.check, finding.title, finding.message, finding.file])
    return hashlib.sha256(text.encode()).hexdigest()


def build_sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """Build SARIF 2.1.0 (OASIS), the format by which code hosts read findings."""
    rules = [{"id": check} for check in dict.fromkeys(finding.check for finding in findings)]
    driver = {"name": "rlregress", "version": __version__, "rules": rules}
    results = [
        {
            "ruleId": finding.check,
            "level": _SARIF_LEVELS[finding.level],
            "message": {"text": f"{finding.title}: {finding.message}"},
            "partialFingerprints": {"rlregress/v1": _digest_finding(finding)},
            "locations": [_make_sarif_location(finding)] if finding.file else [],
        }
        for finding in findings
    ]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _make_sarif_location(finding: Finding) -> dict[str, Any]:
    place = {"uri": quote(finding.file), "uriBaseId": "%SRCROOT%"}
    region = {"startLine": finding.line}
    return {"physicalLocation": {"artifactLocation": place, "region": region}}


def make_pull_request_comment(mark: str, brief: Sequence[str], report: str) -> str:
    """Return a comment for a pull request. Its mark lets the next comment overwrite it.

    Args:
        mark: ``GATE`` or ``UPGRADE``.
        brief: the short summary, the verdict first.
        report: the report, which the comment folds.
    """
    safe = [harmless.escape_markdown(harmless.escape_into_one_line(line)) for line in brief]
    head = [mark, f"### {safe[0]}", "", *(f"- {line}" for line in safe[1:]), ""]
    fold, end = "<details><summary>Report</summary>\n\n", "\n</details>\n"
    room = COMMENT - len("\n".join(head)) - len(fold) - len(end)
    return (
        "\n".join(head)
        + fold
        + cut_text_after_line(harmless.escape_markdown(report), room, len)
        + end
    )


def _count_bytes(text: str) -> int:
    return len(text.encode())


def cut_text_after_line(
    text: str, max_length: int, measure: Callable[[str], int] = _count_bytes
) -> str:
    """Return a text, cut after the last line that fits, with a note on its length.

    Args:
        measure: returns the length of a text; bytes by default.
    """
    if measure(text) <= max_length:
        return text
    lines = text.splitlines(keepends=True)
    message = f"\n... {len(lines)} lines in all; the whole report is in the artifact\n"
    kept_lines: list[str] = []
    size = measure(message)
    for line in lines:
        size += measure(line)
        if size > max_length:
            break
        kept_lines.append(line)
    return "".join(kept_lines) + message if measure(message) <= max_length else ""


def format_upgrade_as_junit(result: Upgrade, seconds: float) -> str:
    """Return a JUnit case for each counted entry: failed if it differs, skipped if unknown.

    There is one suite for each framework, and one for entries of no framework.
    """
    root = ElementTree.Element("testsuites")
    suites: dict[str, ElementTree.Element] = {}
    for entry in filter(lambda entry: entry.affects_verdict, result.entries):
        title = f"upgrade {entry.framework}".strip()
        if title not in suites:
            suites[title] = ElementTree.SubElement(root, "testsuite", name=title)
        named = {"classname": title.replace(" ", "."), "name": entry.title}
        case = ElementTree.SubElement(suites[title], "testcase", named)
        text = ": ".join(filter(None, (entry.state, entry.summary, entry.reason)))
        if entry.verdict in _FAILURES:
            ElementTree.SubElement(case, "failure", message=text).text = text
        elif entry.verdict in _UNKNOWN:
            ElementTree.SubElement(case, "skipped", message=text)
    for suite in suites.values():
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(suite.findall("*/failure"))))
        suite.set("skipped", str(len(suite.findall("*/skipped"))))
        suite.set("errors", "0")
    root.set("time", f"{seconds:.1f}")
    # XML may not contain control characters
    for element in root.iter():
        element.text = element.text and harmless.escape_for_terminal(element.text)
        for name, value in element.items():
            element.set(name, harmless.escape_for_terminal(value))
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"

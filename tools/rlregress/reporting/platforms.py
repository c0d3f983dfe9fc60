"""What hosts of code show of a verdict: annotations, comments and summaries, and code quality.

GitHub: "Workflow commands" (at most 10 annotations of a kind for each step), "Adding a job
summary" (1 MiB for each step), the length of a comment (65 536 characters). GitLab: "Code Quality",
report format (``description``, ``check_name``, ``fingerprint``, ``severity``, ``location``), and
"Unit test reports".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from rlregress import __version__
from rlregress.model import differences as model
from rlregress.model.upgrades import OfFramework, Upgrade
from rlregress.model.verdict import REGRESSED
from rlregress.reporting import harmless
from rlregress.reporting.findings import ERROR, LEVELS, NOTICE, WARNING, Finding

#: level -> GitLab's severity
_SEVERITIES = {ERROR: "major", WARNING: "minor", NOTICE: "info"}
#: level -> that of SARIF
_SARIF_LEVELS = {ERROR: "error", WARNING: "warning", NOTICE: "note"}
#: annotations of one kind that GitHub shows for one step
MOST = 10
#: bytes of the summary of one step
SUMMARY = 1024 * 1024
#: characters of a comment
COMMENT = 65_536
#: of gates and of upgrades: finds the comment that is to be written over
GATE, UPGRADE = "<!-- rlregress gate -->", "<!-- rlregress upgrade -->"


def annotated(found: Sequence[Finding]) -> list[str]:
    """Workflow commands of GitHub, as many of a kind as it shows; the last counts the rest."""
    lines = []
    for level in LEVELS:
        of = [each for each in found if each.level == level]
        shown = of if len(of) <= MOST else of[: MOST - 1]
        lines += [_annotation(each) for each in shown]
        if shown != of:
            said = f"{len(of) - len(shown)} more are in the report"
            lines.append(_annotation(Finding(level, "", "rlregress", said)))
    return lines


def _annotation(each: Finding) -> str:
    place = {"file": each.file, "line": str(each.line)} if each.file else {}
    return harmless.workflow(each.level, {**place, "title": each.title}, each.message)


def code_quality(found: Sequence[Finding]) -> list[dict[str, Any]]:
    """GitLab's report, of what has a place in the repository."""
    return [
        {
            "description": f"{each.title}: {each.message}",
            "check_name": each.check,
            "fingerprint": _fingerprint(each),
            "severity": _SEVERITIES[each.level],
            "location": {"path": each.file, "lines": {"begin": each.line}},
        }
        for each in found
        if each.file
    ]


def _fingerprint(each: Finding) -> str:
    text = "\0".join([each.check, each.title, each.message, each.file])
    return hashlib.sha256(text.encode()).hexdigest()


def sarif(found: Sequence[Finding]) -> dict[str, Any]:
    """What analysers tell code hosts: SARIF 2.1.0 (OASIS), of all that was found."""
    rules = [{"id": check} for check in dict.fromkeys(each.check for each in found)]
    driver = {"name": "rlregress", "version": __version__, "rules": rules}
    results = [
        {
            "ruleId": each.check,
            "level": _SARIF_LEVELS[each.level],
            "message": {"text": f"{each.title}: {each.message}"},
            "partialFingerprints": {"rlregress/v1": _fingerprint(each)},
            "locations": [_location(each)] if each.file else [],
        }
        for each in found
    ]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _location(each: Finding) -> dict[str, Any]:
    place = {"uri": quote(each.file), "uriBaseId": "%SRCROOT%"}
    region = {"startLine": each.line}
    return {"physicalLocation": {"artifactLocation": place, "region": region}}


def comment(mark: str, brief: Sequence[str], text: str) -> str:
    """A comment of a pull request, with the mark by which the next one is written over it.

    Args:
        mark: ``GATE`` or ``UPGRADE``.
        brief: the five lines, the verdict first.
        text: the report, which is folded.
    """
    shown = [harmless.markdown(harmless.line(line)) for line in brief]
    head = [mark, f"### {shown[0]}", "", *(f"- {line}" for line in shown[1:]), ""]
    fold, end = "<details><summary>Report</summary>\n\n", "\n</details>\n"
    room = COMMENT - len("\n".join(head)) - len(fold) - len(end)
    return "\n".join(head) + fold + cut(harmless.markdown(text), room, len) + end


def _bytes(text: str) -> int:
    return len(text.encode())


def cut(text: str, room: int, measure: Callable[[str], int] = _bytes) -> str:
    """The text, or as many of its first lines as there is room for, and how many are left out.

    Args:
        measure: of a text; bytes by default.
    """
    if measure(text) <= room:
        return text
    lines = text.splitlines(keepends=True)
    said = f"\n... {len(lines)} lines in all; the whole report is in the artifact\n"
    kept: list[str] = []
    size = measure(said)
    for line in lines:
        size += measure(line)
        if size > room:
            break
        kept.append(line)
    return "".join(kept) + said if measure(said) <= room else ""


def junit(result: Upgrade, seconds: float) -> str:
    """A case for each detail that differs or was not probed, each training and piece of code."""
    root = ElementTree.Element("testsuites")
    for of in result.frameworks:
        suite = ElementTree.SubElement(root, "testsuite", name=f"upgrade {of.name}")
        for detail in of.details.changed:
            case = _case(suite, of, f"{detail.id} [{detail.scope}]")
            if detail in of.moved:
                said = f"{detail.a.text} -> {detail.b.text}"
                ElementTree.SubElement(case, "failure", message=said).text = said
        for missing in of.details.not_asked:
            case = _case(suite, of, f"{missing.id} [{missing.scope}]")
            ElementTree.SubElement(case, "skipped", message=f"not probed: {missing.text}")
        for each in of.entries:
            if each.kind not in (*model.CODE, model.TRAINING):
                continue
            kind = "trace" if each.kind == model.TRAINING else each.kind
            case = _case(suite, of, f"{kind} {each.name}")
            said = f"{each.state}{each.reason and ': '}{each.reason}"
            if each.state in model.UNCHECKED:
                ElementTree.SubElement(case, "skipped", message=said)
            elif (
                each.state in (model.NEW_FAILS, model.DIFFERS, model.BEYOND, model.LOGS)
                and not each.accepted
            ):
                ElementTree.SubElement(case, "failure", message=said).text = said
        if of.returns is not None:
            case = _case(suite, of, "returns")
            if of.returns.verdict == REGRESSED:
                said = "\n".join(of.returns.lines)
                ElementTree.SubElement(case, "failure", message=REGRESSED).text = said
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(suite.findall("*/failure"))))
        suite.set("skipped", str(len(suite.findall("*/skipped"))))
        suite.set("errors", "0")
    root.set("time", f"{seconds:.1f}")
    # a control character would make it no XML
    for element in root.iter():
        element.text = element.text and harmless.terminal(element.text)
        for name, value in element.items():
            element.set(name, harmless.terminal(value))
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, of: OfFramework, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"upgrade.{of.name}", name=name)

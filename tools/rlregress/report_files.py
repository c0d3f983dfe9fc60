"""Writes the files of a report of a check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlregress import evidence
from rlregress.check import nightly_record
from rlregress.inside.run_record import write_atomically
from rlregress.model.check_result import CheckResult
from rlregress.report import (
    check_findings,
    check_report,
    ci_formats,
    markdown_page,
    short_summary,
)
from rlregress.report.html import check_page


def write_judged(
    result: CheckResult, entries: Sequence[dict[str, Any]], folder: Path, top: Path
) -> str:
    """Write the page, ``summary.md``, and the files for other programs; return the page as text.

    Args:
        entries: the evidence.
        top: folder of the repository; paths in the files are relative to it.
    """
    page = check_page.page(result)
    text = markdown_page.format_page(page)
    write_atomically(folder / "report.html", page.html())
    verdict = evidence.to_plain(check_report.as_json(result))
    verdict["night"] = nightly_record.build_record(result, entries)
    write_atomically(folder / nightly_record.VERDICT_FILE, json.dumps(verdict, indent=1) + "\n")
    brief = short_summary.lines(check_page.facts(result), check_page.cards(result), "report.html")
    comment = ci_formats.make_comment(ci_formats.GATE, brief, text)
    write_atomically(folder / "summary.md", comment)
    findings = check_findings.list_findings(result, top)
    write_atomically(
        folder / "gate.sarif", json.dumps(ci_formats.build_sarif(findings), indent=1) + "\n"
    )
    return text


def write(result: CheckResult, entries: Sequence[dict[str, Any]], folder: Path) -> None:
    """Write the report and its evidence."""
    evidence.write(folder / "evidence.json", list(entries))
    write_judged(result, entries, folder, Path.cwd())

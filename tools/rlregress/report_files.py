"""Writes the files of a report of a check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlregress import evidence
from rlregress.check import nightly_record
from rlregress.inside.run_record import write_text_atomically
from rlregress.model.check_result import CheckResult
from rlregress.report import check_findings, check_report, ci_formats, markdown_page, short_summary
from rlregress.report.html import check_page


def write_report_files_and_return_markdown(
    result: CheckResult, entries: Sequence[dict[str, Any]], folder: Path, repository: Path
) -> str:
    """Write the page, ``summary.md``, and the files for other programs; return Markdown.

    Args:
        entries: the evidence.
        repository: folder of the repository; paths in the files are relative to it.
    """
    page = check_page.make_page_of_check(result)
    text = markdown_page.format_page_as_markdown(page)
    write_text_atomically(folder / "report.html", page.render_html())
    verdict = evidence.convert_to_plain_data(check_report.convert_check_to_plain_data(result))
    verdict["night"] = nightly_record.build_nightly_record(result, entries)
    write_text_atomically(
        folder / nightly_record.VERDICT_FILE, json.dumps(verdict, indent=1) + "\n"
    )
    brief = short_summary.make_summary_lines(
        check_page.make_page_info(result),
        check_page.make_cards_of_check(result),
        "report.html",
    )
    comment = ci_formats.make_pull_request_comment(ci_formats.GATE, brief, text)
    write_text_atomically(folder / "summary.md", comment)
    findings = check_findings.list_check_findings(result, repository)
    write_text_atomically(
        folder / "gate.sarif", json.dumps(ci_formats.build_sarif(findings), indent=1) + "\n"
    )
    return text


def write_check_report_and_evidence(
    result: CheckResult, entries: Sequence[dict[str, Any]], folder: Path
) -> None:
    """Write the report and its evidence."""
    evidence.write_evidence(folder / "evidence.json", list(entries))
    write_report_files_and_return_markdown(result, entries, folder, Path.cwd())

"""``rlregress check``: judge the installed frameworks."""

from __future__ import annotations

from typing import Annotated

import typer

from rlregress import report_files
from rlregress.cli import ci_annotations, output
from rlregress.cli.options import (
    Inconclusive,
    check_inconclusive,
    gate_code,
    takes,
    with_budget,
)
from rlregress.gate import gate_run
from rlregress.gate_options import GateOptions
from rlregress.reporting import gate_findings, gate_report, short_summary
from rlregress.reporting.html import gate_page
from rlregress.studies.trend import nightly_reports

Brief = Annotated[bool, typer.Option("--brief", help="End in five lines, for a chat or a mail.")]


@takes(GateOptions, budget="")
def check(
    options: GateOptions, inconclusive: Inconclusive = "code", in_brief: Brief = False
) -> None:
    """Example:

    rlregress check --framework sb3 --cells 'sb3-ppo-*'

    Judges the installed frameworks: formulas, behaviour, returns. Ends with one verdict each. Exit
    code 0: holds, 1: regressed, 2: could not judge, 3: inconclusive. The report folder holds
    report.html (a page), summary.md, verdict.json, evidence.json and junit.xml.
    """
    check_inconclusive(inconclusive)
    raise typer.Exit(gate_code(judge(with_budget(options), in_brief), inconclusive))


def judge(options: GateOptions, in_brief: bool = False) -> int:
    """Judge the installed frameworks; writes the report, prints the summary; the exit code.

    Args:
        in_brief: print five lines in place of the summary.
    """
    with gate_run.new_report(options) as new:
        result = nightly_reports.with_earlier(gate_run.judge(new, typer.echo), options.report)
        text = report_files.judged(
            result, gate_run.evidence_of(new), new.report, ci_annotations.top()
        )
    output.decided()
    ci_annotations.annotate(gate_findings.findings(result, ci_annotations.top()))
    ci_annotations.summarise(text)
    cards = gate_page.cards(result)
    if in_brief:
        page = str(options.report / "report.html")
        for line in short_summary.lines(gate_page.facts(result), cards, page):
            typer.echo(line)
        return result.exit_code
    typer.echo("\n" + text)
    written = [name for name in gate_run.REPORT_FILES if (options.report / name).exists()]
    typer.echo(f"report: {options.report} ({', '.join(written)})")
    output.next_steps(short_summary.steps(cards))
    for line in gate_report.verdict_lines(result):
        typer.echo(line)
    return result.exit_code

"""``rlregress check``: judge the installed frameworks."""

from __future__ import annotations

from typing import Annotated

import typer

from rlregress import report_files
from rlregress.check import check_run, nightly_record
from rlregress.check_options import CheckOptions
from rlregress.cli import ci_annotations, output, window
from rlregress.cli.options import (
    Inconclusive,
    check_inconclusive,
    replace_exit_code,
    set_default_budget,
    takes_options,
)
from rlregress.report import check_findings, check_report, screen, short_summary
from rlregress.report.html import check_page

Brief = Annotated[bool, typer.Option("--brief", help="End in five lines, for a chat or a mail.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print the whole report.")]


@takes_options(CheckOptions, budget="")
def check(
    options: CheckOptions,
    inconclusive: Inconclusive = "code",
    in_brief: Brief = False,
    verbose: Verbose = False,
) -> None:
    """Example:

    rlregress check --framework sb3 --cells 'sb3-ppo-*'

    Judges the installed frameworks: formulas, behaviour, returns. Ends with one verdict each. Exit
    code 0: holds, 1: regressed, 2: could not judge, 3: inconclusive. The report folder holds
    report.html (a page), summary.md, verdict.json, evidence.json and junit.xml.
    """
    check_inconclusive(inconclusive)
    code = judge(set_default_budget(options), in_brief, verbose)
    raise typer.Exit(replace_exit_code(code, inconclusive))


def judge(options: CheckOptions, in_brief: bool = False, verbose: bool = False) -> int:
    """Judge the installed frameworks, write the report and print a screen. Return the exit code.

    Args:
        in_brief: print five lines instead of a screen.
        verbose: print the whole summary instead of a screen.
    """
    with check_run.replace_report_folder(options) as new:
        result = nightly_record.add_earlier_runs(
            check_run.judge_check(new, typer.echo), options.report
        )
        text = report_files.write_judged(
            result, check_run.read_evidence(new), new.report, ci_annotations.repository_top()
        )
    output.mark_decided()
    ci_annotations.annotate(check_findings.list_findings(result, ci_annotations.repository_top()))
    ci_annotations.append_summary(text)
    cards = check_page.cards(result)
    page = options.report / "report.html"
    if in_brief:
        for line in short_summary.lines(check_page.facts(result), cards, str(page)):
            typer.echo(line)
        return result.exit_code
    report, verdicts = f"report: {page}", check_report.verdict_lines(result)
    if verbose:
        steps = [f"next: {step}" for step in short_summary.steps(cards)]
        for line in (f"\n{text}", report, *steps, *verdicts):
            typer.echo(line)
        return result.exit_code
    typer.echo("")
    width, words = window.width(), [outcome.verdict for outcome in result.outcomes]
    closing = [(line, "") for line in (report, *screen.next_steps(cards, width))]
    closing += zip(verdicts, words, strict=True)
    window.show(screen.lines(cards, closing, width), typer.echo)
    return result.exit_code

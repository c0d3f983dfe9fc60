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
    check_inconclusive_option,
    make_command_of_function,
    replace_inconclusive_exit_code,
    set_default_budget,
)
from rlregress.report import check_findings, check_report, screen, short_summary
from rlregress.report.html import check_page

Brief = Annotated[bool, typer.Option("--brief", help="End with five lines, for a chat or a mail.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print the whole report, not one screen.")]


@make_command_of_function(CheckOptions, budget="")
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
    check_inconclusive_option(inconclusive)
    code = judge_and_report_check(set_default_budget(options), in_brief, verbose)
    raise typer.Exit(replace_inconclusive_exit_code(code, inconclusive))


def judge_and_report_check(
    options: CheckOptions, in_brief: bool = False, verbose: bool = False
) -> int:
    """Judge the installed frameworks, write the report and print a screen. Return the exit code.

    Args:
        in_brief: print five lines instead of a screen.
        verbose: print the whole summary instead of a screen.
    """
    with check_run.replace_report_folder(options) as new:
        result = nightly_record.add_earlier_nightly_runs(
            check_run.run_and_judge_check(new, typer.echo), options.report
        )
        text = report_files.write_report_files_and_return_markdown(
            result,
            check_run.read_evidence(new),
            new.report,
            ci_annotations.find_repository_or_cwd(),
        )
    output.mark_exit_code_decided()
    ci_annotations.print_annotations_on_github(
        check_findings.list_check_findings(result, ci_annotations.find_repository_or_cwd())
    )
    ci_annotations.append_github_summary(text)
    cards = check_page.make_cards_of_check(result)
    page = options.report / "report.html"
    if in_brief:
        for line in short_summary.make_summary_lines(
            check_page.make_page_info(result), cards, str(page)
        ):
            typer.echo(line)
        return result.exit_code
    report, verdicts = f"report: {page}", check_report.format_verdict_of_each_framework(result)
    if verbose:
        steps = [f"next: {step}" for step in short_summary.format_first_steps(cards)]
        for line in (f"\n{text}", report, *steps, *verdicts):
            typer.echo(line)
        return result.exit_code
    typer.echo("")
    width, words = window.get_screen_width(), [outcome.verdict for outcome in result.outcomes]
    closing = [(line, "") for line in (report, *screen.format_next_steps(cards, width))]
    closing += zip(verdicts, words, strict=True)
    window.print_screen(screen.make_screen_lines(cards, closing, width), typer.echo)
    return result.exit_code

"""``rlregress upgrade``: judge an upgrade, and write it down."""

from __future__ import annotations

import json
import re
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from packaging.utils import canonicalize_name

from rlregress import files
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.check import report_data
from rlregress.cli import ci_annotations, output, window
from rlregress.cli.check import Brief, Verbose
from rlregress.cli.options import (
    Inconclusive,
    Packages,
    Steps,
    check_inconclusive_option,
    make_command_of_function,
    parse_verdict,
)
from rlregress.cli.parsing import get_script_arguments, refuse_options_without_script
from rlregress.errors import UserError
from rlregress.inside.run_record import check_folder_is_writable, write_text_atomically
from rlregress.model import option
from rlregress.model.upgrade_result import Upgrade
from rlregress.model.verdict import INCONCLUSIVE
from rlregress.progress import show_progress
from rlregress.report import (
    ci_formats,
    markdown_page,
    screen,
    short_summary,
    upgrade_data,
    upgrade_findings,
    upgrade_text,
)
from rlregress.report.html import upgrade_page
from rlregress.report.html.page import PageInfo
from rlregress.trace import jobs
from rlregress.upgrade import cascade
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.versions import cached_folders

Versions = Annotated[
    list[str],
    typer.Argument(
        metavar="[OLD] NEW", help="Pins, a folder, a lock file, or installed.", show_default=False
    ),
]
#: values of --scenario that are not names
_SCENARIOS = {"all": None, "none": ()}


@make_command_of_function(Options)
def upgrade(
    options: Options,
    context: typer.Context,
    versions: Versions,
    script: Annotated[
        str | None, typer.Option(metavar="FILE", help="Script to trace, not built-in trainings.")
    ] = None,
    package: Packages = None,
    steps: Steps = 0,
    inconclusive: Inconclusive = "code",
    in_brief: Brief = False,
    verbose: Verbose = False,
) -> None:
    """Example:

    rlregress upgrade stable-baselines3==2.8.0 stable-baselines3==2.9.2

    Lists what differs, traces trainings, names culprits. What follows -- goes to --script. Also
    --no-old-files; --loader, --observations, --environment of a --checkpoint. Exit code 0:
    unchanged and the like, 1: worse or fails, 2: could not judge, 3: changed.
    """
    check_inconclusive_option(inconclusive)
    if len(versions) > 2:
        raise UserError(
            f"{len(versions)} versions are named ({', '.join(versions)}), expected [OLD] NEW; join "
            "requirements of one version in one word, separated by spaces"
        )
    if script is None:
        refuse_options_without_script(context, package or steps)
    job = None
    if script is not None:
        arguments = get_script_arguments(context)
        job = jobs.build_script_job(
            Path(script), arguments, split_comma_separated_names("--package", package), steps
        )
    scenarios = options.scenarios
    if scenarios is not None and len(scenarios) == 1:
        scenarios = _SCENARIOS.get(scenarios[0], scenarios)
    old, new = versions if len(versions) == 2 else ("installed", versions[0])
    options = replace(
        options,
        old=old,
        new=new,
        scenarios=scenarios,
        fail_on=parse_verdict("--fail-on", options.fail_on),
        script=job,
        say=typer.echo,
    )
    raise typer.Exit(judge_and_report_upgrade(options, in_brief, inconclusive, verbose))


def judge_and_report_upgrade(
    options: Options, in_brief: bool = False, inconclusive: str = "code", verbose: bool = False
) -> int:
    """Judge an upgrade, print and write its report. Return the exit code.

    Args:
        in_brief: print five lines instead of a screen.
        inconclusive: exit code of that verdict: "code", "pass" or "fail".
        verbose: print the whole report instead of a screen.
    """
    # before hours of work; an earlier report stays until the new one is complete
    check_folder_is_writable(options.report, "the report")
    cached_folders.require_writable_cache()
    started, date = time.monotonic(), report_data.format_time_with_offset()
    with show_progress(options.say) as say:
        result = cascade.judge_upgrade(replace(options, say=say))
    seconds = round(time.monotonic() - started, 1)
    title = upgrade_page.format_upgrade_title(result)
    facts = PageInfo(
        title, date, seconds, report_data.describe_machine(), _make_repeating_command(options)
    )
    text = write_upgrade_report(result, options.report, facts)
    output.mark_exit_code_decided()
    ci_annotations.print_annotations_on_github(
        upgrade_findings.list_upgrade_findings(result, _find_pinned_repository(result))
    )
    if in_brief:
        for line in _summarise_upgrade_briefly(result, options.report, facts):
            options.say(line)
        return _compute_exit_code(result, inconclusive)
    options.say("")
    cards, width = upgrade_page.make_cards_of_upgrade(result, facts), window.get_screen_width()
    if verbose:
        report, *script, verdict = upgrade_text.make_closing_lines_of_upgrade(
            result, options.report
        )
        steps = [f"next: {step}" for step in short_summary.format_first_steps(cards, screen.STEPS)]
        for line in (text, report, *steps, *script, verdict):
            options.say(line)
    else:
        report, *script, verdict = upgrade_text.make_closing_lines_of_upgrade(
            result, options.report, width
        )
        closing = [
            (line, "") for line in (report, *screen.format_next_steps(cards, width), *script)
        ]
        window.print_screen(
            screen.make_screen_lines(cards, [*closing, (verdict, result.verdict)], width),
            options.say,
        )
    return _compute_exit_code(result, inconclusive)


def _compute_exit_code(result: Upgrade, inconclusive: str) -> int:
    if result.verdict == INCONCLUSIVE:
        return {"pass": 0, "fail": 1}.get(inconclusive, result.exit_code)
    return result.exit_code


def _make_repeating_command(options: Options) -> str:
    """Return the command that repeats the judgement."""
    words = ["rlregress", "upgrade", options.old, options.new]
    if options.script is not None:
        words += ["--script", str(options.script.get("script", ""))]
    declared = set(option.list_options(Options)) - {"report", "workers"}
    return shlex.join([*words, *option.format_options_as_arguments(options, declared)])


def _summarise_upgrade_briefly(result: Upgrade, folder: Path, facts: PageInfo) -> list[str]:
    return short_summary.make_summary_lines(
        facts,
        upgrade_page.make_cards_of_upgrade(result, facts),
        str(folder / "upgrade.html"),
        upgrade_text.describe_results_of_user_files(result),
    )


def _find_pinned_repository(result: Upgrade) -> upgrade_findings.PinnedRepository:
    """Return the repository that the command runs in, and the lines that pin the new version."""
    top = ci_annotations.find_repository_or_cwd()
    lock = result.new.lock and files.resolve_real_path(result.new.lock)
    if lock is None or not lock.is_relative_to(top):
        return upgrade_findings.PinnedRepository(top)
    pins: dict[str, int] = {}
    for number, line in enumerate(lock.read_text("utf-8", "replace").splitlines(), start=1):
        name = re.match(r"[\w.-]+", line.strip())
        if name is not None:
            pins.setdefault(canonicalize_name(name[0]), number)
    return upgrade_findings.PinnedRepository(top, lock.relative_to(top).as_posix(), pins)


def write_upgrade_report(result: Upgrade, folder: Path, facts: PageInfo) -> str:
    """Write page, Markdown, data, SARIF, JUnit and GitHub's summary; return the Markdown.

    Args:
        facts: time, machine and command of the judgement.
    """
    page = upgrade_page.make_page_of_upgrade(result, facts)
    text = markdown_page.format_page_as_markdown(page)
    data = (
        json.dumps(upgrade_data.convert_upgrade_to_plain_data(result), indent=1, default=str) + "\n"
    )
    findings = upgrade_findings.list_upgrade_findings(result, _find_pinned_repository(result))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_text_atomically(folder / "upgrade.json", data)
        write_text_atomically(folder / "upgrade.html", page.render_html())
        comment = ci_formats.make_pull_request_comment(
            ci_formats.UPGRADE, _summarise_upgrade_briefly(result, folder, facts), text
        )
        write_text_atomically(folder / "upgrade.md", comment)
        write_text_atomically(
            folder / "upgrade.xml", ci_formats.format_upgrade_as_junit(result, facts.seconds)
        )
        sarif = json.dumps(ci_formats.build_sarif(findings), indent=1) + "\n"
        write_text_atomically(folder / "upgrade.sarif", sarif)
        ci_annotations.append_github_summary(text)
    except OSError as error:
        raise UserError(f"the report cannot be written to {folder}: {error}") from None
    return text

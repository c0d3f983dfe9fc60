"""``rlregress gate --from A --to B`` and ``rlregress histories``: judge upgrades, write it down."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from packaging.utils import canonicalize_name

from rlregress import files, frameworks
from rlregress.commands import following, hosts, output
from rlregress.errors import UserError
from rlregress.gate import shown
from rlregress.model.differences import FAIL_ON
from rlregress.model.upgrades import Upgrade
from rlregress.model.verdict import INCONCLUSIVE
from rlregress.reporting import (
    brief,
    findings,
    harmless,
    next_steps,
    platforms,
    upgrade_data,
    upgrade_text,
)
from rlregress.reporting import histories as histories_report
from rlregress.reporting.html import upgrade as upgrade_page
from rlregress.reporting.html.page import Facts
from rlregress.training.record import check_writable, write_atomically
from rlregress.upgrade import cached_folders, changes, gate, histories
from rlregress.upgrade.changes import ReleasePair
from rlregress.upgrade.options import Options


def judge(options: Options, in_brief: bool = False, inconclusive: str = "code") -> int:
    """Judge an upgrade, print and write its report; the exit code.

    Args:
        in_brief: print five lines in place of the report.
        inconclusive: exit code of that verdict: "code", "pass" or "fail".
    """
    # the last report stays until there is another
    check_writable(options.report, "the report")
    started, date = time.monotonic(), shown.now()
    result = gate.run(options)
    seconds = round(time.monotonic() - started, 1)
    title = upgrade_page.title(result)
    facts = Facts(title, date, seconds, shown.machine(), _command(options))
    write(result, options.report, facts)
    output.decided()
    hosts.annotate(findings.findings(result, _repository(result)))
    if in_brief:
        for line in _brief(result, options.report, facts):
            options.say(line)
        return _exit_code(result, inconclusive)
    options.say("")
    report, verdict = upgrade_text.last_lines(result, options.report)
    steps = [f"next: {step}" for step in brief.steps(upgrade_page.cards(result, facts))]
    for line in (*upgrade_text.lines(result), report, *steps, verdict):
        options.say(line)
    return _exit_code(result, inconclusive)


def _exit_code(result: Upgrade, inconclusive: str) -> int:
    if result.verdict == INCONCLUSIVE:
        return {"pass": 0, "fail": 1}.get(inconclusive, result.exit_code)
    return result.exit_code


def _command(options: Options) -> str:
    """The command that judges the same again."""
    command = ["rlregress", "gate", "--from", options.a, "--to", options.b]
    for name, values in (
        ("--framework", options.frameworks),
        ("--algorithm", options.algorithms),
        ("--scenario", options.scenarios if options.scenarios != [] else ["none"]),
    ):
        if values:
            command += [name, ",".join(values)]
    if options.script is not None:
        command += ["--script", str(options.script.get("script", ""))]
    if options.prove:
        command += ["--prove", str(options.prove)]
    if options.min_coverage is not None:
        command += ["--min-coverage", f"{options.min_coverage:g}"]
    if options.fail_on != FAIL_ON:
        command += ["--fail-on", options.fail_on]
    if options.minutes:
        command += ["--minutes", f"{options.minutes:g}"]
    if options.lend:
        command += ["--lend", ",".join(options.lend)]
    if options.accepted is not None:
        command += ["--accepted", str(options.accepted)]
    command += ["--every-training"] * options.every + ["--no-returns"] * (not options.returns)
    return shlex.join([*command, *["--fixed"] * options.one_look])


def _brief(result: Upgrade, folder: Path, facts: Facts) -> list[str]:
    return brief.lines(facts, upgrade_page.cards(result, facts), str(folder / "upgrade.html"))


def _repository(result: Upgrade) -> findings.Repository:
    """The repository that the command runs in, and where side B is pinned in it."""
    top = hosts.top()
    lock = result.b.lock and files.absolute(result.b.lock)
    if lock is None or not lock.is_relative_to(top):
        return findings.Repository(top)
    pins: dict[str, int] = {}
    for number, line in enumerate(lock.read_text("utf-8", "replace").splitlines(), start=1):
        name = re.match(r"[\w.-]+", line.strip())
        if name is not None:
            pins.setdefault(canonicalize_name(name[0]), number)
    return findings.Repository(top, lock.relative_to(top).as_posix(), pins)


def write(result: Upgrade, folder: Path, facts: Facts) -> None:
    """Write the page, the text and the data of a report, and what hosts of code show of it.

    That is the summary where GitHub shows it, the text of a comment, and GitLab's formats.

    Args:
        facts: when, where and how it was judged.
    """
    text = "\n".join(upgrade_text.lines(result)) + "\n"
    data = json.dumps(upgrade_data.as_json(result), indent=1, default=str) + "\n"
    page = upgrade_page.page(result, facts)
    found = findings.findings(result, _repository(result))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "upgrade.json", data)
        write_atomically(folder / "upgrade.md", harmless.markdown(text))
        write_atomically(folder / "upgrade.html", page)
        said = platforms.comment(platforms.UPGRADE, _brief(result, folder, facts), text)
        write_atomically(folder / "upgrade-comment.md", said)
        write_atomically(folder / "upgrade.xml", platforms.junit(result, facts.seconds))
        for name, plain in (
            ("upgrade-code-quality.json", platforms.code_quality(found)),
            ("upgrade.sarif", platforms.sarif(found)),
        ):
            write_atomically(folder / name, json.dumps(plain, indent=1) + "\n")
        hosts.summarise(text)
    except OSError as error:
        raise UserError(f"the report cannot be written to {folder}: {error}") from None


def judge_histories(
    names: Sequence[str], only: Sequence[str], scenarios: Sequence[str], workers: int
) -> None:
    """Judge what has no result yet, framework after framework, and say what came of each pair.

    Args:
        scenarios: trace these alone, and add what they name to the results.
    """
    for name in names:
        judge = _judge_pair(name, scenarios, workers)
        for row in histories.run(name, judge, only, typer.echo, further=bool(scenarios)):
            for line in histories_report.pair_lines(row):
                typer.echo(line)


def _judge_pair(
    name: str, scenarios: Sequence[str], workers: int
) -> Callable[[ReleasePair], Mapping[str, Any]]:
    package = frameworks.get(name).packages[0]
    kept = cached_folders.cache() / "histories"

    def judge(pair: ReleasePair) -> Mapping[str, Any]:
        options = Options(
            a=" ".join([f"{package}=={pair.before}", *pair.requires]),
            b=" ".join([f"{package}=={pair.release}", *pair.requires]),
            report=kept / "report",
            frameworks=[name],
            scenarios=scenarios or None,
            only_scenarios=bool(scenarios),
            returns=False,
            workers=workers,
            keep=kept,
            say=lambda line: typer.echo(f"  {line}"),
        )
        report = upgrade_data.as_json(gate.run(options))
        mark = "-scenarios" if scenarios else ""
        path = kept / f"{name}-{pair.release}{mark}.json"
        write_atomically(path, json.dumps(report, indent=1))
        return report

    return judge


def show_histories(names: Sequence[str]) -> None:
    """Print what is kept of the histories of frameworks."""
    unjudged: list[str] = []
    for name in names:
        published = len(changes.pairs(name))
        rows = histories.load(name)
        for line in histories_report.lines(frameworks.get(name).title, published, rows):
            typer.echo(line)
        if len(rows) < published:
            unjudged.append(name)
    following.say([next_steps.after_histories(unjudged)])

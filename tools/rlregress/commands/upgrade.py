"""``rlregress gate --from A --to B`` and ``rlregress histories``: judge upgrades, write it down."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.gate import shown
from rlregress.reporting import brief, upgrade_data, upgrade_text
from rlregress.reporting import histories as histories_report
from rlregress.reporting.html import upgrade as upgrade_page
from rlregress.reporting.html.page import Facts
from rlregress.training.record import check_writable, write_atomically
from rlregress.upgrade import cached_folders, changes, gate, histories
from rlregress.upgrade.changes import ReleasePair
from rlregress.upgrade.result import Upgrade

#: where GitHub Actions shows a summary.
_PLATFORM_SUMMARY = "GITHUB_STEP_SUMMARY"


def judge(options: gate.Options, in_brief: bool = False) -> int:
    """Judge an upgrade, print and write its report; the exit code.

    Args:
        in_brief: print five lines in place of the report.
    """
    # the last report stays until there is another
    check_writable(options.report, "the report")
    started, date = time.monotonic(), shown.now()
    result = gate.run(options)
    seconds = round(time.monotonic() - started, 1)
    title = upgrade_page.title(result)
    facts = Facts(title, date, seconds, shown.machine(), _command(options))
    write(result, options.report, facts)
    if in_brief:
        page = str(options.report / "upgrade.html")
        for line in brief.lines(facts, upgrade_page.cards(result, facts), page):
            options.say(line)
        return result.exit_code
    options.say("")
    for line in upgrade_text.lines(result):
        options.say(line)
    for line in upgrade_text.last_lines(result, options.report):
        options.say(line)
    return result.exit_code


def _command(options: gate.Options) -> str:
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
    command += ["--every-training"] * options.every + ["--no-returns"] * (not options.returns)
    return shlex.join([*command, *["--fixed"] * options.one_look])


def write(result: Upgrade, folder: Path, facts: Facts) -> None:
    """Write ``upgrade.html``, ``.md`` and ``.json``, and the summary where the platform shows it.

    Args:
        facts: when, where and how it was judged.
    """
    text = "\n".join([*upgrade_text.lines(result), *upgrade_text.not_reached(result)]) + "\n"
    data = json.dumps(upgrade_data.as_json(result), indent=1, default=str) + "\n"
    page = upgrade_page.page(result, facts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "upgrade.json", data)
        write_atomically(folder / "upgrade.md", text)
        write_atomically(folder / "upgrade.html", page)
        if os.environ.get(_PLATFORM_SUMMARY):
            with Path(os.environ[_PLATFORM_SUMMARY]).open("a", encoding="utf-8") as stream:
                stream.write(text)
    except OSError as error:
        raise UserError(f"the report cannot be written to {folder}: {error}") from None


def judge_histories(names: Sequence[str], only: Sequence[str], workers: int) -> None:
    """Judge what has no result yet, framework after framework, and say what came of each pair."""
    for name in names:
        for row in histories.run(name, _judge_pair(name, workers), only, typer.echo):
            for line in histories_report.pair_lines(row):
                typer.echo(line)


def _judge_pair(name: str, workers: int) -> Callable[[ReleasePair], Mapping[str, Any]]:
    package = frameworks.get(name).packages[0]
    kept = cached_folders.cache() / "histories"

    def judge(pair: ReleasePair) -> Mapping[str, Any]:
        options = gate.Options(
            a=" ".join([f"{package}=={pair.before}", *pair.requires]),
            b=" ".join([f"{package}=={pair.release}", *pair.requires]),
            report=kept / "report",
            frameworks=[name],
            returns=False,
            workers=workers,
            keep=kept,
            say=lambda line: typer.echo(f"  {line}"),
        )
        report = upgrade_data.as_json(gate.run(options))
        write_atomically(kept / f"{name}-{pair.release}.json", json.dumps(report, indent=1))
        return report

    return judge


def show_histories(names: Sequence[str]) -> None:
    """Print what is kept of the histories of frameworks."""
    for name in names:
        published = len(changes.pairs(name))
        rows = histories.load(name)
        for line in histories_report.lines(frameworks.get(name).title, published, rows):
            typer.echo(line)

"""``rlregress gate --from A --to B`` and ``rlregress histories``: judge upgrades, write it down."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.reporting import histories as histories_report
from rlregress.reporting import upgrade_data, upgrade_text
from rlregress.training.record import check_writable, write_atomically
from rlregress.upgrade import cached_folders, changes, gate, histories
from rlregress.upgrade.changes import ReleasePair
from rlregress.upgrade.result import Upgrade

#: where GitHub Actions shows a summary.
_PLATFORM_SUMMARY = "GITHUB_STEP_SUMMARY"


def judge(options: gate.Options) -> int:
    """Judge an upgrade, print and write its report; the exit code."""
    # the last report stays until there is another
    check_writable(options.report, "the report")
    result = gate.run(options)
    write(result, options.report)
    options.say("")
    for line in upgrade_text.lines(result):
        options.say(line)
    for line in upgrade_text.last_lines(result, options.report):
        options.say(line)
    return result.exit_code


def write(result: Upgrade, folder: Path) -> None:
    """Write ``upgrade.md`` and ``upgrade.json``, and the summary where the platform shows it."""
    text = "\n".join([*upgrade_text.lines(result), *upgrade_text.not_reached(result)]) + "\n"
    data = json.dumps(upgrade_data.as_json(result), indent=1, default=str) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "upgrade.json", data)
        write_atomically(folder / "upgrade.md", text)
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

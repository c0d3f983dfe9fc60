"""``rlregress selftest histories``: judges every release against the one before."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from rlregress import frameworks
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.cli import output
from rlregress.cli.options import Workers
from rlregress.errors import UserError
from rlregress.inside.run_record import write_text_atomically
from rlregress.report import upgrade_data
from rlregress.upgrade import cascade
from rlregress.upgrade.differences import known_changes
from rlregress.upgrade.differences.known_changes import ReleasePair
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.versions import cached_folders
from rlregress_power import histories_text, release_histories


def histories(
    framework: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Frameworks; default: all with a history.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help="Releases to judge against the one before, comma-separated; default: all that "
            "have no result."
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            help="Names of scenarios to trace alone, comma-separated; what they name is added to "
            "the results of --only."
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print stored results, and judge nothing.")
    ] = False,
    workers: Workers = 2,
) -> None:
    """Example:

    rlregress selftest histories --show

    Judges every pair of neighbouring releases, and counts what is known to have changed. Takes
    hours; every judged pair is kept in baselines/histories, and the same command goes on from
    there. Exit code 0, or 2 if a name is unknown.
    """
    if show and (only is not None or scenario is not None):
        raise UserError(
            "--only and --scenario select pairs to judge, and --show judges nothing; leave it out"
        )
    if scenario is not None and only is None:
        raise UserError("--scenario adds to the results of judged pairs; name them with --only")
    names = split_comma_separated_names("--framework", framework) or list(
        known_changes.list_frameworks_with_history()
    )
    if not show:
        judge_histories(
            names,
            split_comma_separated_names("--only", only),
            split_comma_separated_names("--scenario", scenario),
            workers,
        )
    print_histories(names)


def judge_histories(
    names: Sequence[str], only: Sequence[str], scenarios: Sequence[str], workers: int
) -> None:
    """Judge pairs without a result, framework by framework, and print each result.

    Args:
        scenarios: trace only these, and add the changes that they detect to the results.
    """
    for name in names:
        judge = _make_judge_of_pairs(name, scenarios, workers)
        for row in release_histories.judge_pairs(
            name, judge, only, typer.echo, further=bool(scenarios)
        ):
            for line in histories_text.describe_pair_in_text(row):
                typer.echo(line)


def _make_judge_of_pairs(
    name: str, scenarios: Sequence[str], workers: int
) -> Callable[[ReleasePair], Mapping[str, Any]]:
    package = frameworks.get_adapter(name).framework.packages[0]
    results_folder = cached_folders.locate_cache() / "histories"

    def judge_pair(pair: ReleasePair) -> Mapping[str, Any]:
        options = Options(
            old=" ".join([f"{package}=={pair.before}", *pair.requires]),
            new=" ".join([f"{package}=={pair.release}", *pair.requires]),
            report=results_folder / "report",
            frameworks=[name],
            scenarios=scenarios or None,
            only_scenarios=bool(scenarios),
            returns=False,
            workers=workers,
            keep=results_folder,
            say=lambda line: typer.echo(f"  {line}"),
        )
        report = upgrade_data.convert_upgrade_to_plain_data(cascade.judge_upgrade(options))
        mark = "-scenarios" if scenarios else ""
        path = results_folder / f"{name}-{pair.release}{mark}.json"
        write_text_atomically(path, json.dumps(report, indent=1))
        return report

    return judge_pair


def print_histories(names: Sequence[str]) -> None:
    """Print the stored histories of frameworks."""
    unjudged: list[str] = []
    for name in names:
        published = len(known_changes.list_release_pairs(name))
        rows = release_histories.load_judged_pairs(name)
        for line in histories_text.make_history_table(
            frameworks.get_adapter(name).framework.title, published, rows
        ):
            typer.echo(line)
        if len(rows) < published:
            unjudged.append(name)
    output.print_next_steps([suggest_after_histories(unjudged)])


def suggest_after_histories(unjudged: Sequence[str]) -> str:
    """Suggest the next step after the tables of frameworks."""
    if unjudged:
        name = shlex.quote(unjudged[0])
        return f"Judge the rest, which takes hours: rlregress selftest histories --framework {name}"
    return "Nothing: every pair of releases is judged."

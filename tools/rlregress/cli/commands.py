"""All commands, in the order of the help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from rlregress import __version__, frameworks
from rlregress.cli.parsing import Lazy, Row
from rlregress.errors import UserError

GROUPS: Mapping[str, str] = {
    "runs": "Train by the hundred: launch, run, status, verify, merge.",
    "baseline": "Record what later runs are judged by: record, throughput.",
    "study": "Rank, thesis, determinism, claims.",
    "selftest": "What does this suite detect itself? faults, histories.",
}

#: commands that take a script, and what follows ``--`` as its arguments.
_TAKE_SCRIPTS = ("upgrade", "bisect", "trace")
#: commands whose words are read by another program.
_RAW = ("test",)
ROWS: tuple[Row, ...] = tuple(
    Row(
        name=name,
        function=function,
        line=line,
        takes_script=name in _TAKE_SCRIPTS,
        raw=name in _RAW,
    )
    for name, function, line in (
        ("check", "check:check", "Is what is installed as documented, and does it still learn?"),
        ("upgrade", "upgrade:upgrade", "From OLD to NEW: what changed, where, does it matter?"),
        ("compare", "compare:compare", "Where do frameworks differ from each other?"),
        (
            "details",
            "details:details",
            "The catalogue of implementation details, and what is installed.",
        ),
        ("bisect", "bisect:bisect", "Which release or commit, and which function, changed it?"),
        ("test", "run_tests:test", "Run the tests by pytest, from any folder."),
        ("trace", "trace:trace", "Record what a training does, event by event."),
        ("diff", "trace:diff", "Where do two traces differ first?"),
        ("plan", "plan:plan", "What would a check cost, and what would it detect?"),
        ("runs launch", "runs:launch", "Start the runs that are not done."),
        ("runs run", "runs:run", "Do one run of a manifest, as a scheduler does."),
        ("runs status", "runs:status", "What is done, running, stuck, failed?"),
        ("runs verify", "runs:verify", "Read every record of a store."),
        ("runs merge", "runs:merge", "Bring several stores into one."),
        ("baseline record", "baseline:record", "Train cells and store returns."),
        (
            "baseline throughput",
            "baseline:throughput",
            "How fast are trainings? --record measures it.",
        ),
        ("study rank", "rank:rank", "Which implementations differ? AdaStop."),
        ("study thesis", "rank:thesis", "The thesis' three questions."),
        (
            "study determinism",
            "determinism:determinism",
            "What does each source of chance do to DQN?",
        ),
        ("study claims", "claims:claims", "Is what papers and blogs say true?"),
        ("trend", "trend:trend", "Over many nightly reports: what changed, and when?"),
        ("selftest faults", "faults:faults", "Inject known faults: is each of them detected?"),
        (
            "selftest histories",
            "histories:histories",
            "Judge real releases whose changes are known.",
        ),
    )
)


def _show_versions(wanted: bool) -> None:
    if not wanted:
        return
    typer.echo(f"rlregress {__version__}")
    for name in frameworks.names():
        adapter = frameworks.get(name)
        try:
            versions = ", ".join(f"{k} {v}" for k, v in adapter.versions().items())
        except UserError as error:
            versions = str(error)
        typer.echo(f"{name}: {versions}")
    raise typer.Exit


def _every_command(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_versions,
            is_eager=True,
            help="Print the versions of this suite and of the frameworks that it finds.",
        ),
    ] = False,
) -> None:
    """Regression tests for reinforcement-learning frameworks.

    \b
    rlregress upgrade stable-baselines3==2.8.0 stable-baselines3==2.9.2

    Exit codes of every command: 0 nothing is wrong, 1 something is, 2 it could not be judged or
    the command line is wrong, 3 the data cannot tell, 130 interrupted.
    """


def _made() -> TyperGroup:
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    app.callback()(_every_command)
    made = get_command(app)
    assert isinstance(made, TyperGroup)
    made.commands = dict(_below(""))
    return made


def _below(above: str) -> list[tuple[str, Any]]:
    """Name -> command or group, of those below a group in the order of ``ROWS``."""
    found: dict[str, Any] = {}
    for row in ROWS:
        if not row.name.startswith(above):
            continue
        head, _, deeper = row.name.removeprefix(above).partition(" ")
        if not deeper:
            found[head] = Lazy(row)
        elif head not in found:
            found[head] = TyperGroup(
                name=head,
                commands=dict(_below(f"{head} ")),
                help=GROUPS[head],
                no_args_is_help=True,
                rich_markup_mode=None,
            )
    return list(found.items())


#: the whole program.
program = _made()

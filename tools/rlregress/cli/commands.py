"""All commands, in the order of the help; and those of before, which go on working."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    "study": "Rank, thesis, determinism, actions, claims, pilot, export.",
    "selftest": "What does this suite detect itself? faults, histories.",
}

ROWS: tuple[Row, ...] = (
    Row(
        name="check",
        function="check:check",
        line="Is what is installed as documented, and does it still learn?",
    ),
    Row(
        name="upgrade",
        function="upgrade:upgrade",
        line="From OLD to NEW: what changed, where, does it matter?",
        takes_script=True,
    ),
    Row(
        name="bisect",
        function="bisect:bisect",
        line="Which release or commit, and which function, changed it?",
        takes_script=True,
    ),
    Row(
        name="test",
        function="run_tests:test",
        line="Run the tests by pytest, from any folder.",
        raw=True,
    ),
    Row(
        name="compare",
        function="compare:compare",
        line="Where do frameworks differ from each other?",
    ),
    Row(
        name="details",
        function="details:details",
        line="The catalogue of implementation details, and what is installed.",
    ),
    Row(
        name="trace",
        function="trace:trace",
        line="Record what a training does, event by event.",
        takes_script=True,
    ),
    Row(name="diff", function="trace:diff", line="Where do two traces differ first?"),
    Row(
        name="plan",
        function="plan:plan",
        line="What would a check cost, and what would it detect?",
    ),
    Row(name="runs launch", function="runs:launch", line="Start the runs that are not done."),
    Row(
        name="runs run", function="runs:run", line="Do one run of a manifest, as a scheduler does."
    ),
    Row(name="runs status", function="runs:status", line="What is done, running, stuck, failed?"),
    Row(name="runs verify", function="runs:verify", line="Read every record of a store."),
    Row(name="runs merge", function="runs:merge", line="Bring several stores into one."),
    Row(name="baseline record", function="baseline:record", line="Train cells and store returns."),
    Row(
        name="baseline throughput",
        function="baseline:throughput",
        line="How fast are trainings? --record measures it.",
    ),
    Row(name="study rank", function="rank:rank", line="Which implementations differ? AdaStop."),
    Row(name="study thesis", function="rank:thesis", line="The thesis' three questions."),
    Row(
        name="study determinism",
        function="determinism:determinism",
        line="What does each source of chance do to DQN?",
    ),
    Row(
        name="study actions",
        function="actions:actions",
        line="What do bounds make of a Gaussian policy?",
    ),
    Row(name="study claims", function="claims:claims", line="Is what papers and blogs say true?"),
    Row(name="study pilot", function="pilot:pilot", line="What should runs be judged by?"),
    Row(name="study export", function="export:export", line="Runs as CSV or TensorBoard files."),
    Row(
        name="trend",
        function="trend:trend",
        line="Over many nightly reports: what changed, and when?",
    ),
    Row(
        name="selftest faults",
        function="faults:faults",
        line="Inject known faults: is each of them detected?",
    ),
    Row(
        name="selftest histories",
        function="histories:histories",
        line="Judge real releases whose changes are known.",
    ),
)

#: command of before -> the words that do the same now. ``gate`` is two commands, see ``current``.
FORMER: Mapping[str, tuple[str, ...]] = {
    "probe": ("details", "--installed"),
    "claims": ("study", "claims"),
    "actions": ("study", "actions"),
    "determinism": ("study", "determinism"),
    "pilot": ("study", "pilot"),
    "rank": ("study", "rank"),
    "export": ("study", "export"),
    "record": ("baseline", "record"),
    "throughput": ("baseline", "throughput"),
    "launch": ("runs", "launch"),
    "run": ("runs", "run"),
    "status": ("runs", "status"),
    "watch": ("runs", "status", "--watch"),
    "verify": ("runs", "verify"),
    "merge": ("runs", "merge"),
    "faults": ("selftest", "faults"),
    "histories": ("selftest", "histories"),
    "version": ("--version",),
}


def current(words: Sequence[str]) -> list[str]:
    """A command line in the commands of today."""
    name, rest = (words[0], list(words[1:])) if words else ("", [])
    if name == "gate":
        return _of_gate(rest)
    if name == "study" and not (rest and (rest[0] == "--help" or not rest[0].startswith("-"))):
        return ["study", "thesis", *rest]
    return [*FORMER.get(name, (name,) if words else ()), *rest]


def _of_gate(words: list[str]) -> list[str]:
    """``gate --from OLD --to NEW`` is ``upgrade OLD NEW``; without either it is ``check``."""
    end = words.index("--") if "--" in words else len(words)
    given, left = {}, []
    rest = iter(words[:end])
    for word in rest:
        option, equals, value = word.partition("=")
        if option in ("--from", "--to"):
            given[option] = value if equals else next(rest, "")
        else:
            left.append(word)
    if not given:
        return ["check", *words]
    versions = [given.get(option, "installed") for option in ("--from", "--to")]
    return ["upgrade", *versions, *left, *words[end:]]


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

"""All commands, in the order of the help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rlregress import __version__, frameworks
from rlregress.cli.parsing import CommandGroup, CommandRow, LazyCommand
from rlregress.errors import UserError
from rlregress.probing import installed_metadata

#: further packages of this project with commands: group -> name of the distribution
PACKAGES: Mapping[str, str] = {"study": "rlregress-studies", "selftest": "rlregress-power"}
ENTRY_POINT_GROUP = "rlregress.commands"

_RUNS_KEPT = "finished runs are kept, and the same command continues from there"
_TRACES_KEPT = "finished trainings and traces are kept, and the same command continues from there"


def _make_command_row(name: str, function: str, line: str, **options: Any) -> CommandRow:
    return CommandRow(name=name, function=f"rlregress.cli.{function}", line=line, **options)


_CORE: tuple[CommandRow, ...] = (
    _make_command_row(
        "check", "check:check", "Is what is installed as documented, and does it still learn?",
        kept=_TRACES_KEPT,
    ),
    _make_command_row(
        "upgrade", "upgrade:upgrade", "From OLD to NEW: what changed, where, does it matter?",
        kept=_TRACES_KEPT, takes_script=True,
    ),
    _make_command_row("compare", "compare:compare", "Where do frameworks differ from each other?"),
    _make_command_row(
        "details", "details:details",
        "The catalogue of implementation details, and what is installed.",
    ),
    _make_command_row(
        "bisect", "bisect:bisect", "Which release or commit, and which function, changed it?",
        kept="measured versions are kept, and the same command continues from there",
        takes_script=True,
    ),
    _make_command_row(
        "test", "run_tests:test", "Run the tests by pytest, from any folder.", raw=True
    ),
    _make_command_row(
        "trace", "trace:trace", "Record what a training does, event by event.", takes_script=True
    ),
    _make_command_row("diff", "trace:diff", "Where do two traces differ first?"),
    _make_command_row("plan", "plan:plan", "What would a check cost, and what would it detect?"),
    _make_command_row(
        "runs launch", "runs:launch", "Start the runs that are not done.", kept=_RUNS_KEPT
    ),
    _make_command_row("runs run", "runs:run", "Do one run of a manifest, as a scheduler does."),
    _make_command_row("runs status", "runs:status", "What is done, running, stuck, failed?"),
    _make_command_row("runs merge", "runs:merge", "Bring several stores into one."),
    _make_command_row("baseline record", "baseline:record", "Train cells and store returns.",
    kept=_RUNS_KEPT),
    _make_command_row("trend", "trend:trend", "Over many nightly reports: what changed, and when?"),
)  # fmt: skip


def _load_installed_groups() -> tuple[list[CommandGroup], dict[str, str]]:
    """Return the command groups of installed packages, and group -> why it cannot be used.

    A package counts as installed by its entry points: in a clone, all its packages can be imported.
    """
    points = installed_metadata.map_entry_points(ENTRY_POINT_GROUP)
    groups: list[CommandGroup] = []
    missing = {name: "is not installed" for name in PACKAGES if name not in points}
    for name in sorted(points, key=[*PACKAGES, *points].index):
        try:
            groups.append(points[name].load())
        except ImportError as error:
            # a broken package must not disable the other commands
            missing[name] = f"cannot be imported ({error})"
    return groups, missing


_INSTALLED, _MISSING = _load_installed_groups()
ROWS: tuple[CommandRow, ...] = (*_CORE, *(row for group in _INSTALLED for row in group.rows))
GROUPS: Mapping[str, str] = {
    "runs": "Train by the hundred: launch, run, status, merge.",
    "baseline": "Record what later runs are judged by.",
    **{group.name: group.line for group in _INSTALLED},
}


class _UnusableCommand(TyperCommand):
    """Replaces the commands of a package that cannot be used. Its error says how to install it."""

    def make_context(self, *_given: Any, **_more: Any) -> Any:
        name = str(self.name)
        if name not in PACKAGES:
            raise UserError(f"'rlregress {name}' {_MISSING[name]}; install its package again")
        package = PACKAGES[name]
        raise UserError(
            f"'rlregress {name}' is in the package {package}, which {_MISSING[name]}; install it "
            f"from a clone of rlregress: pip install ./tools/{package.replace('-', '_')}"
        )


def _show_versions(is_requested: bool) -> None:
    if not is_requested:
        return
    typer.echo(f"rlregress {__version__}")
    for adapter in frameworks.list_adapters():
        try:
            versions = ", ".join(f"{k} {v}" for k, v in adapter.code.map_package_versions().items())
        except UserError as error:
            versions = str(error)
        typer.echo(f"{adapter.name}: {versions}")
    raise typer.Exit


def _declare_root_options(
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


def _build_program() -> TyperGroup:
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    app.callback()(_declare_root_options)
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    group.commands = {
        **{name: _UnusableCommand(name=name, hidden=True) for name in _MISSING},
        **dict(_list_commands_below("")),
    }
    return group


def _list_commands_below(group: str) -> list[tuple[str, Any]]:
    """Return names and commands or groups directly below a group, in the order of ``ROWS``."""
    by_name: dict[str, Any] = {}
    for row in ROWS:
        if not row.name.startswith(group):
            continue
        head, _, deeper = row.name.removeprefix(group).partition(" ")
        if not deeper:
            by_name[head] = LazyCommand(row)
        elif head not in by_name:
            by_name[head] = TyperGroup(
                name=head,
                commands=dict(_list_commands_below(f"{head} ")),
                help=GROUPS[head],
                no_args_is_help=True,
                rich_markup_mode=None,
            )
    return list(by_name.items())


#: the whole program.
program = _build_program()

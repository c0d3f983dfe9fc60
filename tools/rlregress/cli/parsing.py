"""How a command line is read: every mistake is reported in one sentence; empty values are one."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from rlregress import frameworks
from rlregress.cli import drawing
from rlregress.errors import UserError, refuse_empty

#: what the parser raises; typer brings its own copy of click along, or takes the installed one
UsageError: Any = typer.BadParameter.__mro__[1]
TRUST = "--trust-pickle"
#: key of the arguments of a script, which stand behind "--", among the notes of a context.
_SCRIPT = "rlregress.script"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A command.

    Attributes:
        name: as it is typed, such as "runs launch".
        function: module and name of the function that does it, as an entry point has them.
        line: what it is for, in the list of commands.
        kept: what is kept of it when it is interrupted, as a sentence; empty: nothing.
        takes_script: whether what follows "--" are the arguments of a script.
        raw: whether another program reads its arguments.
    """

    name: str
    function: str
    line: str
    kept: str = ""
    takes_script: bool = False
    raw: bool = False

    def load(self) -> Callable[..., Any]:
        """The function, with what it needs imported."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return function


@dataclass(frozen=True, kw_only=True)
class CommandGroup:
    """Commands with the same first word, as a package brings them."""

    name: str
    line: str
    rows: tuple[Row, ...]


class Command(TyperCommand):
    """A command that refuses empty values: an empty path would mean the working directory."""

    row: Row

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As its base class.

        Raises:
            UserError: a value is empty, or is no text that a report can hold.
        """
        refuse_empty(args)
        for argument in args:
            if any("\ud800" <= character <= "\udfff" for character in argument):
                raise UserError(f"{ascii(argument)} is not UTF-8; expected text that is")
        if self.row.raw:
            ctx.meta[_SCRIPT] = args
            if args != ["--help"]:
                return []
        elif self.row.takes_script and "--" in args:
            end = args.index("--")
            args, ctx.meta[_SCRIPT] = args[:end], args[end + 1 :]
        try:
            remaining: list[str] = super().parse_args(ctx, args)
        except UsageError as error:
            option = getattr(error, "option_name", "")
            # what the command takes may lack its value
            if (
                type(error).__name__ != "NoSuchOption"
                or (alternatives := others_that_take(option)) == []
            ):
                raise
            raise UserError(f"{ctx.command_path} takes no {option}; {_and(alternatives)}") from None
        return remaining

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """As its base class, with arguments as their own metavars say: "[OLD] NEW"."""
        arguments = [p.metavar for p in self.params if p.param_type_name == "argument"]
        return ["[OPTIONS]", *filter(None, arguments)]

    def invoke(self, ctx: Any) -> Any:
        """As its base class."""
        drawing.load()
        return super().invoke(ctx)


class Lazy(TyperCommand):
    """Stands in the list of commands, and becomes the command when it is used."""

    def __init__(self, row: Row) -> None:
        name = row.name.rpartition(" ")[2]
        super().__init__(name=name, short_help=row.line, rich_markup_mode=None)
        self.row = row

    def real(self) -> Command:
        """The command, with its module imported."""
        function = self.row.load()
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command(cls=Command, help=format_help(function), epilog=common_help(), name=self.name)(
            function
        )
        command = get_command(app)
        assert isinstance(command, Command)
        command.row = self.row
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Return the context of the command itself."""
        return self.real().make_context(*args, **kwargs)


def format_help(function: Callable[..., Any]) -> str:
    """Return the docstring of a function, with the lines of the example kept as they are."""
    text = inspect.getdoc(function) or ""
    # "\b" keeps the lines of a paragraph
    return "\n\n".join(
        f"\b\n{part}" if part.lstrip().startswith("rlregress ") else part
        for part in text.split("\n\n")
    )


def common_help() -> str:
    """Return the help on options that every command takes."""
    checkouts = [
        f"--{a.name} FOLDER"
        for a in map(frameworks.get, frameworks.names())
        if a.framework.checkout
    ]
    return f"Every command takes {', '.join([*checkouts, TRUST])}: see docs/commands.md."


def script_arguments(context: typer.Context) -> list[str]:
    """Return the arguments after "--"."""
    arguments: list[str] = context.meta.get(_SCRIPT, [])
    return arguments


def others_that_take(option: str) -> list[str]:
    """Commands that take an option which one does not."""
    from rlregress.cli.commands import ROWS

    return [f"rlregress {row.name}" for row in ROWS if not row.raw and option in _flags(row)]


def _flags(row: Row) -> set[str]:
    """The options of a command."""
    return {
        flag for param in Lazy(row).real().params for flag in (*param.opts, *param.secondary_opts)
    }


def _and(commands: Sequence[str]) -> str:
    if len(commands) == 1:
        return f"'{commands[0]}' does"
    return f"{', '.join(commands[:-1])} and {commands[-1]} do"


def describe_error(error: Any) -> str:
    """Describe a parser error, and where the command is explained."""
    message = " ".join(str(error.format_message()).split()).rstrip(".")
    hint = f"; see {error.ctx.command_path} --help" if getattr(error, "ctx", None) else ""
    return f"{message}{hint}"

"""Parses command lines. Every mistake, such as an empty value, is reported in one sentence."""

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
from rlregress.errors import UserError, describe_repeated_option, refuse_empty_or_repeated_values

#: errors of the parser; typer has its own copy of click, or uses the installed one
UsageError: Any = typer.BadParameter.__mro__[1]
TRUST = "--trust-pickle"
#: key in the ``meta`` of a context for the arguments of a script, those after "--"
_SCRIPT = "rlregress.script"


@dataclass(frozen=True, kw_only=True)
class CommandRow:
    """An entry in the list of commands: a command's name, function and purpose.

    Attributes:
        name: as it is typed, such as "runs launch".
        function: module and name of its function, written as an entry point.
        line: one line on its purpose, for the list of commands.
        kept: a sentence on the stored results, printed at an interrupt; empty: there are none.
        takes_script: whether words after "--" are the arguments of a script.
        raw: whether another program reads its arguments.
    """

    name: str
    function: str
    line: str
    kept: str = ""
    takes_script: bool = False
    raw: bool = False

    def import_function(self) -> Callable[..., Any]:
        """Import the module of the function. Return the function."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return function


@dataclass(frozen=True, kw_only=True)
class CommandGroup:
    """Commands of one package, with the same first word."""

    name: str
    line: str
    rows: tuple[CommandRow, ...]


class Command(TyperCommand):
    """A command that rejects empty values: an empty path would mean the working directory."""

    row: CommandRow

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as the base class, with the arguments of a script set apart.

        Raises:
            UserError: a value is empty or not UTF-8, an option is given twice, or only other
                commands take it.
        """
        refuse_empty_or_repeated_values(args)
        for argument in args:
            if any("\ud800" <= character <= "\udfff" for character in argument):
                raise UserError(f"{ascii(argument)} is not UTF-8; expected UTF-8 text")
        if self.row.raw:
            ctx.meta[_SCRIPT] = args
            if args != ["--help"]:
                return []
        elif self.row.takes_script and "--" in args:
            end = args.index("--")
            args, ctx.meta[_SCRIPT] = args[:end], args[end + 1 :]
        try:
            self._refuse_repeated_options(ctx, args)
            remaining: list[str] = super().parse_args(ctx, args)
        except UsageError as error:
            option = getattr(error, "option_name", "")
            # an option of this command may only lack its value
            if (
                type(error).__name__ != "NoSuchOption"
                or (alternatives := list_commands_with_option(option)) == []
            ):
                raise
            does = _join_command_names_with_verb(alternatives)
            raise UserError(f"{ctx.command_path} takes no {option}; {does}") from None
        return remaining

    def _refuse_repeated_options(self, ctx: Any, args: Sequence[str]) -> None:
        """Raise UserError if an option is given twice: the parser would forget the first value."""
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for parameter in given:
            if given.count(parameter) > 1 and not parameter.multiple:
                raise UserError(describe_repeated_option(parameter.opts[-1]))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, with each argument's metavar unchanged."""
        arguments = [p.metavar for p in self.params if p.param_type_name == "argument"]
        return ["[OPTIONS]", *filter(None, arguments)]

    def invoke(self, ctx: Any) -> Any:
        # before a module of the command imports matplotlib
        drawing.import_matplotlib_for_files()
        return super().invoke(ctx)


class LazyCommand(TyperCommand):
    """A stand-in for a command, whose module is imported only when the command is used."""

    def __init__(self, row: CommandRow) -> None:
        name = row.name.rpartition(" ")[2]
        super().__init__(name=name, short_help=row.line, rich_markup_mode=None)
        self.row = row

    def load_command(self) -> Command:
        """Import the module of the command. Return the command."""
        function = self.row.import_function()
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command(
            cls=Command,
            help=format_docstring_as_help(function),
            epilog=make_help_on_common_options(),
            name=self.name,
        )(function)
        command = get_command(app)
        assert isinstance(command, Command)
        command.row = self.row
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        return self.load_command().make_context(*args, **kwargs)


def format_docstring_as_help(function: Callable[..., Any]) -> str:
    """Return the docstring of a function, with the lines of the example kept as they are."""
    text = inspect.getdoc(function) or ""
    # "\b" keeps the lines of a paragraph
    return "\n\n".join(
        f"\b\n{part}" if part.lstrip().startswith("rlregress ") else part
        for part in text.split("\n\n")
    )


def make_help_on_common_options() -> str:
    """Return the help on options that every command takes."""
    checkouts = [f"--{a.name} FOLDER" for a in frameworks.list_adapters() if a.framework.checkout]
    return f"Every command takes {', '.join([*checkouts, TRUST])}: see docs/commands.md."


def get_script_arguments(context: typer.Context) -> list[str]:
    """Return the arguments after "--"."""
    arguments: list[str] = context.meta.get(_SCRIPT, [])
    return arguments


def refuse_options_without_script(context: typer.Context, options: object) -> None:
    """Raise UserError for arguments, or ``options``, of a script where none is named."""
    if arguments := get_script_arguments(context):
        raise UserError(
            f"'{' '.join(arguments)}' would be arguments of a script; name it with --script"
        )
    if options:
        raise UserError("--package and --steps apply to a script; name it with --script")


def list_commands_with_option(option: str) -> list[str]:
    """Return the commands that take an option."""
    from rlregress.cli.commands import ROWS

    return [
        f"rlregress {row.name}"
        for row in ROWS
        if not row.raw and option in _list_flags_of_command(row)
    ]


def _list_flags_of_command(row: CommandRow) -> set[str]:
    return {
        flag
        for param in LazyCommand(row).load_command().params
        for flag in (*param.opts, *param.secondary_opts)
    }


def _join_command_names_with_verb(commands: Sequence[str]) -> str:
    if len(commands) == 1:
        return f"'{commands[0]}' does"
    return f"{', '.join(commands[:-1])} and {commands[-1]} do"


def describe_parser_error(error: Any) -> str:
    """Describe a parser error, with the command that prints the help."""
    message = " ".join(str(error.format_message()).split()).rstrip(".")
    hint = f"; see {error.ctx.command_path} --help" if getattr(error, "ctx", None) else ""
    return f"{message}{hint}"

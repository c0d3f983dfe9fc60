"""How a command line is read: what is wrong is said in one sentence, and empty values are wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from rlregress.errors import UserError

#: what the parser raises; typer brings its own copy of click along, or takes the installed one
UsageError: Any = typer.BadParameter.__mro__[1]


def _empty(arguments: Sequence[str]) -> str:
    """What of a command line has an empty value, such as that of a variable that is not set."""
    before = ""
    for argument in arguments:
        if argument == "--":
            # what follows are the arguments of a script
            break
        option, equals, value = argument.partition("=")
        if option.startswith("-") and equals and not value.strip():
            return option
        if not argument.strip():
            return before if re.match("-+[A-Za-z]", before) else "an argument"
        before = argument
    return ""


class Command(TyperCommand):
    """A command that refuses empty values: an empty path would mean the working directory."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As its base class.

        Raises:
            UserError: a value is empty.
        """
        if named := _empty(args):
            raise UserError(
                f"{named} is empty; expected a value: is a variable of the shell not set? Leave it "
                "out for the default"
            )
        rest: list[str] = super().parse_args(ctx, args)
        return rest


def sentence(error: Any) -> str:
    """What the parser says of a command line, and where it is explained."""
    said = " ".join(str(error.format_message()).split()).rstrip(".")
    known = f"; see {error.ctx.command_path} --help" if getattr(error, "ctx", None) else ""
    return f"{said}{known}"

"""How a command line is read: what is wrong is said in one sentence, and empty values are wrong."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from rlregress.commands import drawing
from rlregress.errors import UserError, refuse_empty

#: what the parser raises; typer brings its own copy of click along, or takes the installed one
UsageError: Any = typer.BadParameter.__mro__[1]


class Command(TyperCommand):
    """A command that refuses empty values: an empty path would mean the working directory."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As its base class.

        Raises:
            UserError: a value is empty, or is no text that a report can hold.
        """
        refuse_empty(args)
        for argument in args:
            if any("\ud800" <= character <= "\udfff" for character in argument):
                raise UserError(f"{ascii(argument)} is not UTF-8; expected text that is")
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def invoke(self, ctx: Any) -> Any:
        """As its base class."""
        drawing.load()
        return super().invoke(ctx)


def sentence(error: Any) -> str:
    """What the parser says of a command line, and where it is explained."""
    said = " ".join(str(error.format_message()).split()).rstrip(".")
    known = f"; see {error.ctx.command_path} --help" if getattr(error, "ctx", None) else ""
    return f"{said}{known}"

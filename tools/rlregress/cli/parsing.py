"""How a command line is read: what is wrong is said in one sentence, and empty values are wrong."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from rlregress.errors import refuse_empty

#: what the parser raises; typer brings its own copy of click along, or takes the installed one
UsageError: Any = typer.BadParameter.__mro__[1]


class Command(TyperCommand):
    """A command that refuses empty values: an empty path would mean the working directory."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As its base class.

        Raises:
            UserError: a value is empty.
        """
        refuse_empty(args)
        rest: list[str] = super().parse_args(ctx, args)
        return rest


def sentence(error: Any) -> str:
    """What the parser says of a command line, and where it is explained."""
    said = " ".join(str(error.format_message()).split()).rstrip(".")
    known = f"; see {error.ctx.command_path} --help" if getattr(error, "ctx", None) else ""
    return f"{said}{known}"

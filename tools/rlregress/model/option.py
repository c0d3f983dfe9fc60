"""Options that commands, pytest and child processes share.

Each is declared once, as a field of a dataclass. ``make_option_field`` states its name and help;
the field states its type and default.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, fields
from typing import Any

#: kinds of options whose default does not show their type; names are separated by commas
NAMES, NUMBER, PATH = "names", "number", "path"


@dataclass(frozen=True, kw_only=True)
class Option:
    """The name, help and limits of an option.

    Attributes:
        flag: such as "--framework"; "--returns" for an option that is on by default.
        help: one line, for the command line and for pytest.
        short: such as "-n"; "" if there is none.
        metavar: placeholder for its value in the help.
        kind: ``NAMES``, ``NUMBER`` or ``PATH``; "" if the default shows its type.
        least, most: bounds of a number.
        pytest: whether pytest takes it too.
        completed_by: name of the function that completes its value in a shell.
        hidden: whether it is documented on a page only: the help must fit a screen.
    """

    flag: str
    help: str
    short: str = ""
    metavar: str = ""
    kind: str = ""
    least: float | None = None
    most: float | None = None
    pytest: bool = False
    completed_by: str = ""
    hidden: bool = False


def make_option_field(default: Any, flag: str, help: str, **limits: Any) -> Any:
    """Return a dataclass field that is an option."""
    return field(default=default, metadata={"option": Option(flag=flag, help=help, **limits)})


def list_options(owner: type[Any]) -> dict[str, tuple[Option, Any]]:
    """Return field -> its option and default, for the fields that are options."""
    return {
        spec.name: (spec.metadata["option"], spec.default)
        for spec in fields(owner)
        if "option" in spec.metadata
    }


def format_options_as_arguments(options: Any, only: Collection[str] = ()) -> list[str]:
    """Format the options that differ from their defaults as words of a command line.

    Args:
        options: a dataclass with options.
        only: names of fields; none: all.
    """
    words: list[str] = []
    for name, (declared, default) in list_options(type(options)).items():
        value = getattr(options, name)
        # an empty list equals an empty tuple, but not None
        usual = len(value) == 0 if default == () else value == default
        if not usual and (not only or name in only):
            words += format_option(declared, value)
    return words


def format_option(declared: Option, value: Any) -> list[str]:
    """Format an option with a value as words of a command line."""
    if isinstance(value, bool):
        return [declared.flag if value else make_negated_flag(declared)]
    if declared.kind == NAMES and not isinstance(value, str):
        # an empty list is not the default: for scenarios it is "none"
        return [declared.flag, ",".join(value) or "none"]
    return [declared.flag, f"{value:g}" if isinstance(value, float) else str(value)]


def make_negated_flag(declared: Option) -> str:
    """Return the flag that switches off an option that is on by default."""
    return f"--no-{declared.flag.removeprefix('--')}"

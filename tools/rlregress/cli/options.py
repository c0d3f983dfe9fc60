"""Options that several commands take, and the conversion of their values."""

from __future__ import annotations

import functools
import inspect
import math
import shlex
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer

from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.check.cell_selection import choose_default_budget
from rlregress.check_options import CheckOptions
from rlregress.cli import complete
from rlregress.errors import UserError, suggest_names
from rlregress.files import resolve_real_path
from rlregress.model import option as options
from rlregress.model.differences import FAIL_ON, ORDER
from rlregress.model.option import Option

T = TypeVar("T")
P = ParamSpec("P")

_CHECK = options.list_options(CheckOptions)


def annotate_option(declared: Option, default: Any) -> Any:
    """Return the annotation by which the parser takes an option: its type, names and help."""
    flag = (
        f"{declared.flag}/{options.make_negated_flag(declared)}"
        if default is True
        else declared.flag
    )
    words = (*((declared.short,) if declared.short else ()), flag)
    typer_option = typer.Option(
        *words,
        help=declared.help,
        metavar=declared.metavar or None,
        autocompletion=getattr(complete, declared.completed_by, None),
        show_default=False,
        hidden=declared.hidden,
    )
    kind = type(default) if isinstance(default, bool | int | float) else str
    kind = float if declared.kind == options.NUMBER else kind
    return Annotated[kind | None if default is None else kind, typer_option]


def make_command_of_function(
    options_class: type[T], only: Collection[str] = (), **defaults: Any
) -> Callable[[Callable[Concatenate[T, P], None]], Callable[..., None]]:
    """Decorate a function whose first argument holds options, so that it becomes a command.

    Its other arguments are further options, declared by their annotations.

    Args:
        options_class: the dataclass that declares the options.
        only: the fields that the command takes; empty: all.
        defaults: defaults that differ from those of the fields.
    """
    declared = {
        name: declared_option
        for name, declared_option in options.list_options(options_class).items()
        if not only or name in only
    }

    def decorate_command(function: Callable[Concatenate[T, P], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(*_: Any, **values: Any) -> None:
            fields = {name: _convert_value(declared[name], values.pop(name)) for name in declared}
            function(options_class(**fields), **values)  # type: ignore[call-arg]

        shared = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_format_default_as_typed(defaults.get(name, default)),
                annotation=annotate_option(
                    declared_option, _format_default_as_typed(defaults.get(name, default))
                ),
            )
            for name, (declared_option, default) in declared.items()
        ]
        # the parser would resolve annotations that are text in this module: they are of another
        _, *further = inspect.signature(function, eval_str=True).parameters.values()
        further = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in further]
        parameters = [*further, *shared]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        # or the parser would read the signature of the function
        del command.__wrapped__
        return command

    return decorate_command


def _format_default_as_typed(default: Any) -> Any:
    """Return a default as a user would type it."""
    return str(default) if isinstance(default, Path) else default if default != () else None


def _convert_value(declared: tuple[Option, Any], value: Any) -> Any:
    """Convert a value to the type of its field."""
    option, default = declared
    bounded = option.least is not None or option.most is not None
    if bounded and value is not None:
        least = -math.inf if option.least is None else option.least
        most = math.inf if option.most is None else option.most
        if not least <= value <= most:
            bounds = f"{least:g} or more" if option.most is None else f"{least:g} to {most:g}"
            raise UserError(f"{option.flag} is {value:g}, expected {bounds}")
    if option.kind == options.NAMES:
        return default if value is None else split_comma_separated_names(option.flag, value)
    if option.kind == options.PATH:
        return None if value is None else Path(value)
    return resolve_real_path(value) if isinstance(default, Path) else value


def _annotate_check_option(field: str) -> Any:
    """Return the annotation of an option of ``check``, for a command with its own signature."""
    return annotate_option(*_CHECK[field])


Frameworks = _annotate_check_option("frameworks")
Algorithms = _annotate_check_option("algorithms")
Environments = _annotate_check_option("environments")
Hyperparameters = _annotate_check_option("hyperparameters")
Cells = _annotate_check_option("cells")
Budget = _annotate_check_option("budget")
Store = _annotate_check_option("store")
Workers = _annotate_check_option("workers")
Report = Annotated[
    str, typer.Option(metavar="FOLDER", help="Report folder; default: report/.", show_default=False)
]
Inconclusive = Annotated[
    str,
    typer.Option(
        metavar="HOW", help="If inconclusive: code (3), pass (0) or fail (1).", show_default=False
    ),
]
Html = Annotated[str, typer.Option("--html", metavar="FILE", help="HTML file to write, too.")]
Packages = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Packages to trace, comma-separated.")
]
Steps = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Steps to record; default: 0, all.", show_default=False),
]


def get_typed_command() -> str:
    """Return the command as it was typed, for the report."""
    return shlex.join(["rlregress", *sys.argv[1:]])


def set_default_budget(check_options: CheckOptions) -> CheckOptions:
    """Return the options with the default budget of the cells, if none is named."""
    return replace(
        check_options, budget=check_options.budget or choose_default_budget(check_options.cells)
    )


def reject_given_options(
    context: typer.Context, fields: Collection[str], command: str, advice: str
) -> None:
    """Raise UserError that names the options of the command line that do not apply."""
    rejected = [
        (parameter.secondary_opts or parameter.opts)[0]
        for parameter in context.command.params
        if parameter.name in fields
        and "COMMANDLINE" in str(context.get_parameter_source(parameter.name))
    ]
    if rejected:
        raise UserError(f"{command} {', '.join(rejected)}; {advice}")


def check_inconclusive_option(value: str) -> None:
    """Raise UserError if the value of --inconclusive is unknown."""
    if value not in ("code", "pass", "fail"):
        raise UserError(f"--inconclusive is '{value}', expected code, pass or fail")


def replace_inconclusive_exit_code(code: int, inconclusive: str) -> int:
    """Return the exit code of a check, with code 3 replaced as ``--inconclusive`` requests."""
    return {"pass": 0, "fail": 1}.get(inconclusive, code) if code == 3 else code


def parse_verdict(option: str, value: str) -> str:
    """Return the verdict of this name, the default if empty; UserError for an unknown name."""
    if value and value not in ORDER:
        raise UserError(f"{option} is '{value}', expected a verdict: {suggest_names(value, ORDER)}")
    return value or FAIL_ON


def parse_share(option: str, value: str) -> float:
    """Parse a share written as 20% or as 0.2."""
    try:
        share = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise UserError(f"{option} is '{value}', expected a share up to 100%, such as 20% or 0.2")
    return share

"""Options that several commands take, and how what is given is read."""

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

from rlregress.cli import complete
from rlregress.details.requested_names import split_names
from rlregress.errors import UserError, nearest
from rlregress.files import absolute
from rlregress.gate.cell_selection import default_budget
from rlregress.gate_options import GateOptions
from rlregress.model import option as options
from rlregress.model.differences import FAIL_ON, ORDER
from rlregress.model.option import Option

T = TypeVar("T")
P = ParamSpec("P")

_CHECK = options.of(GateOptions)


def typed(declared: Option, default: Any) -> Any:
    """How the parser takes an option, with its type."""
    flag = f"{declared.flag}/{options.off(declared)}" if default is True else declared.flag
    words = (*((declared.short,) if declared.short else ()), flag)
    found = typer.Option(
        *words,
        help=declared.help,
        metavar=declared.metavar or None,
        autocompletion=getattr(complete, declared.completed_by, None),
        show_default=False,
        hidden=declared.hidden,
    )
    kind = type(default) if isinstance(default, bool | int | float) else str
    kind = float if declared.kind == options.NUMBER else kind
    return Annotated[kind | None if default is None else kind, found]


def takes(
    of: type[T], only: Collection[str] = (), **defaults: Any
) -> Callable[[Callable[Concatenate[T, P], None]], Callable[..., None]]:
    """Makes a command of a function whose first argument holds options.

    The others are the command's own, with their annotations.

    Args:
        of: the dataclass that declares the options.
        only: the fields that the command takes; none: all.
        defaults: other ones than those of the fields.
    """
    declared = {name: each for name, each in options.of(of).items() if not only or name in only}

    def make(function: Callable[Concatenate[T, P], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(*_: Any, **given: Any) -> None:
            holding = {name: _read(declared[name], given.pop(name)) for name in declared}
            function(of(**holding), **given)  # type: ignore[call-arg]

        shared = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_plain(defaults.get(name, default)),
                annotation=typed(each, _plain(defaults.get(name, default))),
            )
            for name, (each, default) in declared.items()
        ]
        # what is annotated in words is resolved here: the parser looks where the wrapper stands
        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
        command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in (*own, *shared)}
        del command.__wrapped__
        return command

    return make


def _plain(default: Any) -> Any:
    """A default as it would be typed."""
    return str(default) if isinstance(default, Path) else default if default != () else None


def _read(declared: tuple[Option, Any], given: Any) -> Any:
    """A value as the field holds it."""
    option, default = declared
    bounded = option.least is not None or option.most is not None
    if bounded and given is not None:
        least = -math.inf if option.least is None else option.least
        most = math.inf if option.most is None else option.most
        if not least <= given <= most:
            bounds = f"{least:g} or more" if option.most is None else f"{least:g} to {most:g}"
            raise UserError(f"{option.flag} is {given:g}, expected {bounds}")
    if option.kind == options.NAMES:
        return default if given is None else split_names(option.flag, given)
    if option.kind == options.PATH:
        return None if given is None else Path(given)
    return absolute(given) if isinstance(default, Path) else given


def _shared(field: str) -> Any:
    """An option of ``check``, for a command with its own signature."""
    return typed(*_CHECK[field])


Frameworks = _shared("frameworks")
Algorithms = _shared("algorithms")
Environments = _shared("environments")
Hyperparameters = _shared("hyperparameters")
Cells = _shared("cells")
Budget = _shared("budget")
Store = _shared("store")
Workers = _shared("workers")
Report = Annotated[
    str,
    typer.Option(metavar="FOLDER", help="Of the report; default: report/.", show_default=False),
]
Inconclusive = Annotated[
    str,
    typer.Option(
        metavar="HOW", help="Of that verdict: code (3), pass (0), fail (1).", show_default=False
    ),
]
Html = Annotated[str, typer.Option("--html", metavar="FILE", help="Write it as a page, too.")]
Packages = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Packages whose lines a trace names.")
]
Steps = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, help="Environment steps to record; 0: all.", show_default=False
    ),
]


def as_typed() -> str:
    """The command as it was typed, for a report that says how it was made."""
    return shlex.join(["rlregress", *sys.argv[1:]])


def with_budget(given: GateOptions) -> GateOptions:
    """The same with the budget that its cells usually have, if none is named."""
    return replace(given, budget=given.budget or default_budget(given.cells))


def refuse(context: typer.Context, fields: Collection[str], who: str, advice: str) -> None:
    """UserError that names those of the options that were given, and who does not take them."""
    given = [
        (parameter.secondary_opts or parameter.opts)[0]
        for parameter in context.command.params
        if parameter.name in fields
        and "COMMANDLINE" in str(context.get_parameter_source(parameter.name))
    ]
    if given:
        raise UserError(f"{who} {', '.join(given)}; {advice}")


def check_inconclusive(given: str) -> None:
    """UserError if --inconclusive is none of its words."""
    if given not in ("code", "pass", "fail"):
        raise UserError(f"--inconclusive is '{given}', expected code, pass or fail")


def gate_code(code: int, inconclusive: str) -> int:
    """The exit code of a gate, with that of 'inconclusive' as it was wanted."""
    return {"pass": 0, "fail": 1}.get(inconclusive, code) if code == 3 else code


def verdict_of(option: str, given: str) -> str:
    """A verdict on an upgrade by its name; of none the default."""
    if given and given not in ORDER:
        raise UserError(f"{option} is '{given}', expected a verdict: {nearest(given, ORDER)}")
    return given or FAIL_ON


def share_of(option: str, given: str) -> float:
    """A share written as 20% or as 0.2."""
    try:
        share = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise UserError(f"{option} is '{given}', expected a share up to 100%, such as 20% or 0.2")
    return share

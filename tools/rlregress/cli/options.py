"""Options that several commands take, and how what is given is read."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from rlregress.cli import complete
from rlregress.errors import UserError, nearest

if TYPE_CHECKING:
    from rlregress.gate.selection import Selection

Frameworks = Annotated[
    str | None,
    typer.Option(
        "--framework",
        help="Names, comma-separated; default: the installed ones.",
        autocompletion=complete.of_frameworks,
    ),
]
Algorithms = Annotated[
    str | None, typer.Option("--algorithm", help="Names, comma-separated; default: all.")
]
Environments = Annotated[
    str | None,
    typer.Option("--environment", help="Gymnasium ids, comma-separated; default: as --cells."),
]
Seeds = Annotated[
    int,
    typer.Option(
        min=0, help="So many new runs of each cell, 1000 at most, at one look; 0: as the looks ask."
    ),
]
OneLook = Annotated[
    bool,
    typer.Option("--fixed", help="Judge at one look, after the budget's number of new runs."),
]
Inconclusive = Annotated[
    str, typer.Option(help="Exit code of 'inconclusive': code (3), pass (0) or fail (1).")
]
Cells = Annotated[
    str,
    typer.Option(
        help="Cells to train: default, all, patterns of ids of stored cells, or a study.",
        autocompletion=complete.of_cells,
    ),
]
BudgetName = Annotated[str, typer.Option("--budget", help="smoke, short, pilot or full.")]
UsualBudget = Annotated[
    str,
    typer.Option(
        "--budget", help="smoke, short or full; default: short, of a study that of its table."
    ),
]
Hyperparameters = Annotated[
    str,
    typer.Option(
        "--hyperparameters",
        metavar="SET",
        help="A set of baselines/hyperparameters, by name; default: each framework's own.",
    ),
]
Html = Annotated[
    str, typer.Option("--html", metavar="PATH", help="Write it to this file too, as one HTML page.")
]
Workers = Annotated[int, typer.Option("-n", "--workers", min=0, help="0: one per core.")]
Packages = Annotated[
    str | None, typer.Option(help="Packages whose lines are named in a trace, comma-separated.")
]
Steps = Annotated[int, typer.Option(min=0, help="Environment steps to record; 0: all.")]
StoreFolder = Annotated[str, typer.Option("--store", help="Folder of run records; default: runs/.")]


def as_typed() -> str:
    """The command as it was typed, for a report that says how it was made."""
    return shlex.join(["rlregress", *sys.argv[1:]])


def names_of(option: str, given: str | None) -> list[str]:
    """The names of a comma-separated option; none if it was not given."""
    from rlregress.gate.selection import names

    return names(option, given)


def selection_of(
    framework: str | None,
    algorithm: str | None,
    environment: str | None,
    budget: str,
    cells: str,
    hyperparameters: str,
) -> Selection:
    """The cells that the options of a gate choose."""
    from rlregress.gate import selection

    return selection.Selection(
        budget or selection.usual_budget(cells),
        names_of("--framework", framework),
        names_of("--algorithm", algorithm),
        names_of("--environment", environment),
        cells,
        hyperparameters,
    )


def refuse(context: typer.Context, options: Collection[str], who: str, advice: str) -> None:
    """UserError that names those of the options that were given, and who does not take them."""
    given = [
        (parameter.secondary_opts or parameter.opts)[0]
        for parameter in context.command.params
        if parameter.name in options
        and "COMMANDLINE" in str(context.get_parameter_source(parameter.name))
    ]
    if given:
        raise UserError(f"{who} {', '.join(given)}; {advice}")


def check_inconclusive(given: str) -> None:
    """UserError if --inconclusive is none of its words."""
    if given not in ("code", "pass", "fail"):
        raise UserError(f"--inconclusive is '{given}', expected code, pass or fail")


def gate_code(code: int, inconclusive: str) -> int:
    """The exit code of a gate, with that of 'inconclusive' as it was asked for."""
    return {"pass": 0, "fail": 1}.get(inconclusive, code) if code == 3 else code


def verdict_of(option: str, given: str) -> str:
    """A verdict on an upgrade by its name; of none the default."""
    from rlregress.model.differences import FAIL_ON, ORDER

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

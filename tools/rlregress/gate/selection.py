"""Which cells a session is about."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from rlregress import datafiles, frameworks, suite
from rlregress.datafiles import Text
from rlregress.details import catalogue
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter
from rlregress.gate import baseline, published
from rlregress.training import plan
from rlregress.training.budgets import budget
from rlregress.training.cell import Cell

#: where smoke trainings go: the cheapest environment that needs MuJoCo
SMOKE_ENVIRONMENT = "InvertedPendulum-v4"


def names(option: str, given: str | None) -> list[str]:
    """The names of a comma-separated option; none if it was not given.

    Raises:
        UserError: it was given, and names nothing.
    """
    if given is None:
        return []
    found = [name.strip() for name in given.split(",") if name.strip()]
    if not found:
        raise UserError(f"{option} names nothing; expected names, comma-separated, or no {option}")
    return found


@dataclass(frozen=True)
class Selection:
    """What the user asked for; empty sequences mean no restriction.

    Attributes:
        cells: ``default``, ``all``, or patterns of cell ids such as ``*-ppo-Hopper-v4-*``.
    """

    budget: str
    frameworks: Sequence[str] = ()
    algorithms: Sequence[str] = ()
    environments: Sequence[str] = ()
    cells: str = "default"


def adapters(names: Sequence[str]) -> list[Adapter]:
    """The named adapters, all with their packages installed; without names the installed ones."""
    if names:
        chosen = [frameworks.get(name) for name in names]
        for adapter in chosen:
            adapter.versions()
        return chosen
    chosen = frameworks.installed()
    if not chosen:
        raise UserError(
            "no framework is installed; install one of: "
            + ", ".join(frameworks.get(name).packages[0] for name in frameworks.names())
        )
    return chosen


def details(names: Sequence[str]) -> frozenset[str]:
    """The ids of the details that are named, or whose ids begin with a name (``sac.critic_loss``).

    Raises:
        UserError: no id is, or begins with, one of the names.
    """
    chosen: set[str] = set()
    for name in names:
        below = {id for id in catalogue.ids() if f"{id}.".startswith(f"{name}.")}
        chosen |= below or {catalogue.get(name).id}
    return frozenset(chosen)


def algorithms() -> frozenset[str]:
    """The algorithms of all known frameworks."""
    return frozenset(a for name in frameworks.names() for a in frameworks.get(name).algorithms)


def other_algorithms(chosen: Sequence[str]) -> frozenset[str]:
    """The algorithms, each a family of details, that ``--algorithm`` leaves out."""
    return algorithms() - set(chosen) if chosen else frozenset()


def _of_names(selection: Selection, environments: Sequence[str]) -> list[Cell]:
    cells = []
    for adapter in adapters(selection.frameworks):
        for algorithm in selection.algorithms or adapter.algorithms:
            for environment in environments:
                cell = Cell(adapter.name, algorithm, environment, adapter.name, selection.budget)
                plan.check(cell)
                cells.append(cell)
    return cells


@dataclass(frozen=True)
class _Named:
    cells: tuple[Text, ...]


@dataclass(frozen=True)
class _File:
    default: _Named


def _default_ids() -> tuple[str, ...]:
    named: _File = datafiles.read(suite.baselines() / "gate.toml", _File)
    return named.default.cells


def choose(selection: Selection) -> list[Cell]:
    """The cells of a session, each checked; UserError for a name that does not exist."""
    chosen_budget = budget(selection.budget)
    if selection.environments:
        if selection.cells != "default":
            raise UserError(
                "--cells and --environment both choose what is trained; give one of them"
            )
        return _of_names(selection, list(dict.fromkeys(selection.environments)))
    if not chosen_budget.judged:
        if selection.cells != "default":
            raise UserError(
                f"--cells chooses among stored runs, and budget '{selection.budget}' is not judged "
                "against any; give --budget short or full, or choose with --environment"
            )
        return _of_names(selection, [SMOKE_ENVIRONMENT])
    installed = {adapter.name for adapter in adapters(selection.frameworks)}
    for algorithm in selection.algorithms:
        known = sorted({a for name in installed for a in frameworks.get(name).algorithms})
        if algorithm not in known:
            raise UserError(plan.not_trained(algorithm, adapters(selection.frameworks), known))
    stored = {
        found.cell.id: found.cell
        for found in baseline.every()
        if found.cell.budget == selection.budget
    }
    if chosen_budget.published:
        for key in published.table(chosen_budget.published):
            framework, algorithm, environment, hyperparameters = key
            cell = Cell(framework, algorithm, environment, hyperparameters, selection.budget)
            if framework == hyperparameters and framework in installed:
                stored.setdefault(cell.id, cell)
    if not stored:
        raise UserError(
            f"there are no stored runs of budget '{selection.budget}' in {baseline.folder()}; "
            "record some with: rlregress record"
        )
    if selection.cells == "all":
        ids = list(stored)
    elif selection.cells == "default":
        ids = [id for id in _default_ids() if id.endswith(f"-{selection.budget}")]
        for id in ids:
            if id not in stored:
                raise UserError(
                    f"{suite.baselines() / 'gate.toml'} names the cell '{id}', which has no stored "
                    "runs; record it or take it out"
                )
        if not ids:
            raise UserError(
                f"{suite.baselines() / 'gate.toml'} names no cells of budget '{selection.budget}'; "
                "name some with --cells (all, or patterns of ids) or with --environment"
            )
    else:
        patterns = selection.cells.split(",")
        for pattern in patterns:
            if not fnmatch.filter(stored, pattern):
                raise UserError(f"no stored cell matches '{pattern}'; {nearest(pattern, stored)}")
        ids = [id for id in stored if any(fnmatch.fnmatch(id, pattern) for pattern in patterns)]
    cells = [
        stored[id]
        for id in ids
        if stored[id].framework in installed
        and (not selection.algorithms or stored[id].algorithm in selection.algorithms)
    ]
    if not cells:
        raise UserError(
            f"no stored cell of budget '{selection.budget}' is left after --framework and "
            f"--algorithm; stored: {', '.join(stored)}; store more with rlregress record, or ask "
            "formulas and behaviour alone: pytest tests_unit tests_behavior --framework <name>"
        )
    return cells

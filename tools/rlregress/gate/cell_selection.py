"""Which cells a session is about."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rlregress import datafiles, files, suite
from rlregress.datafiles import Text
from rlregress.details import requested_names
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter
from rlregress.gate import baseline_runs, published
from rlregress.hyperparameters import hyperparameter_set
from rlregress.missing_packages import MissingPackage
from rlregress.training import job_plan
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell

#: where smoke trainings go: the cheapest environment that needs MuJoCo
SMOKE_ENVIRONMENT = "InvertedPendulum-v4"


@dataclass(frozen=True)
class Selection:
    """What the user asked for; empty sequences mean no restriction.

    Attributes:
        cells: ``default`` (those of ``baselines/gate.toml``; under a set that is named also what
            other frameworks have stored under it), ``all``, patterns of cell ids such as
            ``*-ppo-Hopper-v4-*``, or the name of a study: all cells of its published table.
        hyperparameters: name of a set; empty: each framework's own, and all that a study has.
    """

    budget: str
    frameworks: Sequence[str] = ()
    algorithms: Sequence[str] = ()
    environments: Sequence[str] = ()
    cells: str = "default"
    hyperparameters: str = ""


def _of_names(selection: Selection, environments: Sequence[str]) -> list[Cell]:
    chosen = _trained(selection)
    cells = []
    for adapter in chosen:
        name = adapter.name
        for algorithm in selection.algorithms or adapter.algorithms:
            for environment in environments:
                hyperparameters = selection.hyperparameters or name
                cell = Cell(name, algorithm, environment, hyperparameters, selection.budget)
                with suppress(MissingPackage):  # left out, and reported: ``lacking``
                    job_plan.check_cell(cell)
                cells.append(cell)
    return cells


def _of_study(selection: Selection, table: str) -> list[Cell]:
    chosen = _trained(selection)
    given = {adapter.name for adapter in chosen}
    every = [Cell(*key, selection.budget) for key in published.table(table)]
    cells = [
        cell
        for cell in every
        if (not selection.frameworks or cell.framework in given)
        and (not selection.algorithms or cell.algorithm in selection.algorithms)
        and selection.hyperparameters in ("", cell.hyperparameters)
    ]
    if not cells:
        sets = sorted({cell.hyperparameters for cell in every})
        raise UserError(
            f"no cell of the study '{selection.cells}' is left after --framework, --algorithm and "
            f"--hyperparameters; it has the sets {', '.join(sets)}"
        )
    return cells


@dataclass(frozen=True)
class _Named:
    cells: tuple[Text, ...]


@dataclass(frozen=True)
class _File:
    default: _Named
    studies: Mapping[str, Text] = field(default_factory=dict)


def _file() -> _File:
    read: _File = datafiles.read(suite.baselines() / "gate.toml", _File)
    return read


def usual_budget(cells: str) -> str:
    """The budget of a gate that names none: a study has that of its published table."""
    return "full" if is_study(cells) else "short"


def is_study(cells: str) -> bool:
    """Whether cells are those of a published table."""
    return cells in _file().studies


def study_table(name: str) -> str:
    """The published table of a study; UserError if there is no such study."""
    studies = _file().studies
    if name not in studies:
        raise UserError(f"unknown study '{name}'; {nearest(name, studies)}")
    return studies[name]


def _exclusions(cells: Sequence[Cell]) -> dict[Cell, UserError]:
    """Why cells cannot be trained here, one sentence each, of those that cannot."""
    reasons = {}
    for cell in dict.fromkeys(cells):
        try:
            requested_names.adapters([cell.framework])
            job_plan.check_cell(cell)
            if reason := job_plan.exclusion_reason(cell):
                reasons[cell] = UserError(reason)
        except UserError as error:
            reasons[cell] = error
    return reasons


def choose(selection: Selection) -> list[Cell]:
    """The cells of a session, each checked; UserError for a name that does not exist.

    Those that cannot be trained here are left out, see ``refused``; UserError if none is left.
    """
    named = _requested(selection)
    for cell in named:
        if not files.is_component(cell.id):
            path = suite.baselines() / "hyperparameters" / f"{cell.hyperparameters}.yaml"
            raise UserError(
                f"{cell.id!r} cannot be the name of a folder of runs; expected up to 200 letters, "
                f"digits and any of _.+@:=~-: rename {str(path)!r}"
            )
    left_out = _exclusions(named)
    if len(left_out) == len(named):
        raise left_out[named[0]]
    return [cell for cell in named if cell not in left_out]


def excluded(selection: Selection) -> list[str]:
    """What is left out of a session and why: a line for each framework, algorithm and set."""
    counted = Counter(
        (cell.framework, cell.algorithm, cell.hyperparameters, str(reason))
        for cell, reason in _exclusions(_requested(selection)).items()
    )
    return [
        f"{framework}-{algorithm} with the hyperparameters of {name} (cells: {number}): {text}"
        for (framework, algorithm, name, text), number in counted.items()
    ]


def lacking(selection: Selection) -> dict[Cell, str]:
    """The cells that need a package of an extra which is not installed, with that sentence.

    They were asked for and are not trained, so that nothing of them is known.
    """
    return {
        cell: str(reason)
        for cell, reason in _exclusions(_requested(selection)).items()
        if isinstance(reason, MissingPackage)
    }


def _requested(selection: Selection) -> list[Cell]:
    return list(dict.fromkeys(_by_name(selection) or _of_stored(selection)))


def _by_name(selection: Selection) -> list[Cell]:
    """The cells that are chosen whether they have stored runs or not; none if these choose."""
    if selection.hyperparameters:
        hyperparameter_set(selection.hyperparameters)
    of_budget = load_budget(selection.budget)
    if selection.environments:
        if selection.cells != "default":
            raise UserError(
                "--cells and --environment both choose what is trained; give one of them"
            )
        return _of_names(selection, selection.environments)
    studies = _file().studies
    if selection.cells in studies:
        return _of_study(selection, studies[selection.cells])
    if not of_budget.judged:
        if selection.cells != "default":
            raise UserError(
                f"--cells chooses among stored runs, and budget '{selection.budget}' is not judged "
                "against any; give --budget short or full, or choose with --environment"
            )
        return _of_names(selection, [SMOKE_ENVIRONMENT])
    return []


def _trained(selection: Selection) -> Sequence[Adapter]:
    """The frameworks; UserError if none of them is trained for returns, or none so."""
    chosen = requested_names.adapters(selection.frameworks)
    check_algorithms(chosen, selection.algorithms)
    if not any(adapter.algorithms for adapter in chosen):
        raise UserError(
            f"{' and '.join(adapter.title for adapter in chosen)} cannot be trained for returns "
            "here; test formulas and behaviour: rlregress test tests_unit tests_behavior "
            f"--framework {','.join(adapter.name for adapter in chosen)}"
        )
    return chosen


def check_algorithms(chosen: Sequence[Adapter], algorithms: Sequence[str]) -> None:
    """UserError for an algorithm that none of the frameworks trains for its returns."""
    known = sorted({name for adapter in chosen for name in adapter.algorithms})
    for algorithm in algorithms:
        if algorithm not in known:
            raise UserError(job_plan.describe_untrained(algorithm, chosen, known))


def _of_stored(selection: Selection) -> list[Cell]:
    """Stored cells, and those of the published table of the budget."""
    of_budget = load_budget(selection.budget)
    chosen = _trained(selection)
    installed = {adapter.name for adapter in chosen}
    recorded = {
        cell_.cell.id: cell_.cell
        for cell_ in baseline_runs.every()
        if cell_.cell.budget == selection.budget
    }
    stored = dict(recorded)
    if of_budget.published:
        for key in published.table(of_budget.published):
            cell = Cell(*key, selection.budget)
            wanted = selection.hyperparameters or cell.framework
            if cell.hyperparameters == wanted and cell.framework in installed:
                stored.setdefault(cell.id, cell)
    if not stored:
        raise UserError(
            f"there are no stored runs of budget '{selection.budget}' in {baseline_runs.folder()}; "
            "record some with: rlregress baseline record"
        )
    if selection.cells == "all":
        ids = list(stored)
    elif selection.cells == "default":
        ids = [id for id in _file().default.cells if id.endswith(f"-{selection.budget}")]
        for id in ids:
            if id not in stored:
                raise UserError(
                    f"{suite.baselines() / 'gate.toml'} names the cell '{id}', which has no stored "
                    "runs; record it or take it out"
                )
        ids += [
            id
            for id, cell in recorded.items()
            if cell.hyperparameters == selection.hyperparameters != cell.framework
        ]
        if not ids:
            raise UserError(
                f"{suite.baselines() / 'gate.toml'} names no cells of budget '{selection.budget}'; "
                "name some with --cells (all, or patterns of ids) or with --environment"
            )
    else:
        patterns = requested_names.names("--cells", selection.cells)
        for pattern in patterns:
            if not fnmatch.filter(stored, pattern):
                near = nearest(pattern, _of_these(stored, installed) or stored)
                raise UserError(f"no stored cell matches '{pattern}'; {near}")
        ids = [id for id in stored if any(fnmatch.fnmatch(id, pattern) for pattern in patterns)]
    cells = [
        stored[id]
        for id in ids
        if stored[id].framework in installed
        and (not selection.algorithms or stored[id].algorithm in selection.algorithms)
        and selection.hyperparameters in ("", stored[id].hyperparameters)
    ]
    if not cells:
        listed = ", ".join(_of_these(stored, installed)) or "none of these frameworks"
        which = "default" if selection.cells == "default" else "stored"
        raise UserError(
            f"no {which} cell of budget '{selection.budget}' is left after --framework, "
            f"--algorithm and --hyperparameters; stored: {listed}; choose with "
            "--cells, record more with rlregress baseline record, or test formulas and behaviour "
            "only: rlregress test tests_unit tests_behavior --framework <name>"
        )
    return cells


def _of_these(cells: Mapping[str, Cell], names: Container[str]) -> list[str]:
    return [id for id, cell in cells.items() if cell.framework in names]

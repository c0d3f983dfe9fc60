"""Selects the cells of a session."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rlregress import datafiles, files, suite
from rlregress.catalogue import requested_names
from rlregress.check import baseline_runs, published
from rlregress.datafiles import Text
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.hyperparameters import read_hyperparameters
from rlregress.missing_packages import MissingPackage
from rlregress.training import job_plan
from rlregress.training.budgets import load_budget
from rlregress.training.cell import Cell

#: environment of smoke trainings: the cheapest one that needs MuJoCo
SMOKE_ENVIRONMENT = "InvertedPendulum-v4"


@dataclass(frozen=True)
class Selection:
    """The user's selection of cells. Empty sequences mean no restriction.

    Attributes:
        cells: ``default`` (those of ``baselines/gate.toml``, plus the stored cells of other
            frameworks with a named hyperparameter set), ``all``, patterns of cell ids such as
            ``*-ppo-Hopper-v4-*``, or the name of a study: all cells of its published table.
        hyperparameters: name of a set; empty: each framework's own, and all of a study.
    """

    budget: str
    frameworks: Sequence[str] = ()
    algorithms: Sequence[str] = ()
    environments: Sequence[str] = ()
    cells: str = "default"
    hyperparameters: str = ""


def _select_cells_of_environments(selection: Selection, environments: Sequence[str]) -> list[Cell]:
    adapters = _list_trainable_adapters(selection)
    cells = []
    for adapter in adapters:
        name = adapter.name
        for algorithm in selection.algorithms or adapter.framework.algorithms:
            for environment in environments:
                hyperparameters = selection.hyperparameters or name
                cell = Cell(name, algorithm, environment, hyperparameters, selection.budget)
                # left out later, and reported by ``find_cells_without_package``
                with suppress(MissingPackage):
                    job_plan.check_cell_can_be_trained(cell)
                cells.append(cell)
    return cells


def _select_study_cells(selection: Selection, table: str) -> list[Cell]:
    adapters = _list_trainable_adapters(selection)
    framework_names = {adapter.name for adapter in adapters}
    study_cells = [Cell(*key, selection.budget) for key in published.load_published_bands(table)]
    cells = [
        cell
        for cell in study_cells
        if (not selection.frameworks or cell.framework in framework_names)
        and (not selection.algorithms or cell.algorithm in selection.algorithms)
        and selection.hyperparameters in ("", cell.hyperparameters)
    ]
    if not cells:
        sets = sorted({cell.hyperparameters for cell in study_cells})
        raise UserError(
            f"the study '{selection.cells}' has no cell that fits --framework, --algorithm and "
            f"--hyperparameters; its hyperparameter sets are: {', '.join(sets)}"
        )
    return cells


@dataclass(frozen=True)
class _NamedCells:
    cells: tuple[Text, ...]


@dataclass(frozen=True)
class _File:
    default: _NamedCells
    studies: Mapping[str, Text] = field(default_factory=dict)


def _load_file_of_cells() -> _File:
    content: _File = datafiles.read_data_file(suite.locate_baselines() / "gate.toml", _File)
    return content


def choose_default_budget(cells_option: str) -> str:
    """Return the budget if no option names one: a study has the budget of its published table."""
    return "full" if are_cells_of_study(cells_option) else "short"


def are_cells_of_study(cells_option: str) -> bool:
    """Return whether cells are those of a published table."""
    return cells_option in _load_file_of_cells().studies


def _explain_excluded_cells(cells: Sequence[Cell]) -> dict[Cell, UserError]:
    """Return cell -> why it cannot be trained here, in one sentence."""
    reasons = {}
    for cell in dict.fromkeys(cells):
        try:
            requested_names.select_adapters([cell.framework])
            job_plan.check_cell_can_be_trained(cell)
            if reason := job_plan.explain_rejected_hyperparameters(cell):
                reasons[cell] = UserError(reason)
        except UserError as error:
            reasons[cell] = error
    return reasons


def choose_cells(selection: Selection) -> list[Cell]:
    """Return the cells of a session, each checked; UserError for a name that does not exist.

    Cells that cannot be trained here are left out, see ``describe_excluded_cells``; UserError if
    none remains.
    """
    requested = _list_requested_cells(selection)
    for cell in requested:
        if not files.is_plain_name(cell.id):
            path = suite.locate_baselines() / "hyperparameters" / f"{cell.hyperparameters}.yaml"
            raise UserError(
                f"{cell.id!r} cannot be the name of a folder of runs; expected up to 200 letters, "
                f"digits and any of _.+@:=~-: rename {str(path)!r}"
            )
    exclusions = _explain_excluded_cells(requested)
    # a session without cells would pass silently
    if len(exclusions) == len(requested):
        raise exclusions[requested[0]]
    return [cell for cell in requested if cell not in exclusions]


def describe_excluded_cells(selection: Selection) -> list[str]:
    """Describe which cells are excluded and why: one line for each set of hyperparameters."""
    counts = Counter(
        (cell.framework, cell.algorithm, cell.hyperparameters, str(reason))
        for cell, reason in _explain_excluded_cells(_list_requested_cells(selection)).items()
    )
    return [
        f"{framework}-{algorithm} with the hyperparameters of {name} (cells: {number}): {text}"
        for (framework, algorithm, name, text), number in counts.items()
    ]


def find_cells_without_package(selection: Selection) -> dict[Cell, str]:
    """Return the cells that need a missing package, with a sentence that names it.

    They were requested and cannot be trained, so their verdict is unknown.
    """
    return {
        cell: str(reason)
        for cell, reason in _explain_excluded_cells(_list_requested_cells(selection)).items()
        if isinstance(reason, MissingPackage)
    }


def _list_requested_cells(selection: Selection) -> list[Cell]:
    return list(
        dict.fromkeys(_select_by_environment_or_study(selection) or _select_stored_cells(selection))
    )


def _select_by_environment_or_study(selection: Selection) -> list[Cell]:
    """Return the cells that options select without stored runs; none if stored runs decide."""
    if selection.hyperparameters:
        read_hyperparameters(selection.hyperparameters)
    session_budget = load_budget(selection.budget)
    if selection.environments:
        if selection.cells != "default":
            raise UserError("--cells and --environment both select cells; give one of them")
        return _select_cells_of_environments(selection, selection.environments)
    studies = _load_file_of_cells().studies
    if selection.cells in studies:
        return _select_study_cells(selection, studies[selection.cells])
    if not session_budget.judged:
        if selection.cells != "default":
            raise UserError(
                f"--cells chooses among stored runs, and budget '{selection.budget}' is not judged "
                "against any; give --budget short or full, or choose with --environment"
            )
        return _select_cells_of_environments(selection, [SMOKE_ENVIRONMENT])
    return []


def _list_trainable_adapters(selection: Selection) -> Sequence[Adapter]:
    """Return the requested frameworks; UserError if none is trained for returns."""
    requested = requested_names.select_adapters(selection.frameworks)
    # trainings take the copy that has the plain name
    adapters = [adapter for adapter in requested if not adapter.label]
    check_algorithms_are_trained(adapters, selection.algorithms)
    if not any(adapter.framework.algorithms for adapter in adapters):
        names = [adapter.full_name for adapter in requested]
        raise UserError(
            f"no training for returns is defined for {' and '.join(names)}; test formulas and "
            "behaviour: rlregress test tests_unit tests_behavior "
            f"--framework {','.join(names)}"
        )
    return adapters


def check_algorithms_are_trained(adapters: Sequence[Adapter], algorithms: Sequence[str]) -> None:
    """Raise UserError for an algorithm that none of the frameworks trains for returns."""
    trained = sorted({name for adapter in adapters for name in adapter.framework.algorithms})
    for algorithm in algorithms:
        if algorithm not in trained:
            raise UserError(job_plan.explain_why_not_trained(algorithm, adapters, trained))


def _select_stored_cells(selection: Selection) -> list[Cell]:
    """Return stored cells, and those of the published table of the budget."""
    session_budget = load_budget(selection.budget)
    adapters = _list_trainable_adapters(selection)
    installed = {adapter.name for adapter in adapters}
    recorded = {
        baseline.cell.id: baseline.cell
        for baseline in baseline_runs.load_all_baselines()
        if baseline.cell.budget == selection.budget
    }
    stored = dict(recorded)
    if session_budget.published:
        for key in published.load_published_bands(session_budget.published):
            cell = Cell(*key, selection.budget)
            set_name = selection.hyperparameters or cell.framework
            if cell.hyperparameters == set_name and cell.framework in installed:
                stored.setdefault(cell.id, cell)
    if not stored:
        raise UserError(
            f"there are no stored runs of budget '{selection.budget}' in "
            f"{baseline_runs.locate_returns_folder()}; record some with: rlregress baseline record"
        )
    if selection.cells == "all":
        ids = list(stored)
    elif selection.cells == "default":
        ids = [
            id for id in _load_file_of_cells().default.cells if id.endswith(f"-{selection.budget}")
        ]
        for id in ids:
            if id not in stored:
                raise UserError(
                    f"{suite.locate_baselines() / 'gate.toml'} names the cell '{id}', which has "
                    "no stored "
                    "runs; record it or take it out"
                )
        ids += [
            id
            for id, cell in recorded.items()
            if cell.hyperparameters == selection.hyperparameters != cell.framework
        ]
        if not ids:
            raise UserError(
                f"{suite.locate_baselines() / 'gate.toml'} names no cells of budget "
                f"'{selection.budget}'; "
                "name some with --cells (all, or patterns of ids) or with --environment"
            )
    else:
        patterns = requested_names.split_comma_separated_names("--cells", selection.cells)
        for pattern in patterns:
            if not fnmatch.filter(stored, pattern):
                suggestion = suggest_names(
                    pattern, _list_cell_ids_of_frameworks(stored, installed) or stored
                )
                raise UserError(f"no stored cell matches '{pattern}'; {suggestion}")
        ids = [id for id in stored if any(fnmatch.fnmatch(id, pattern) for pattern in patterns)]
    cells = [
        stored[id]
        for id in ids
        if stored[id].framework in installed
        and (not selection.algorithms or stored[id].algorithm in selection.algorithms)
        and selection.hyperparameters in ("", stored[id].hyperparameters)
    ]
    if not cells:
        stored_names = (
            ", ".join(_list_cell_ids_of_frameworks(stored, installed)) or "none of these frameworks"
        )
        origin = "default" if selection.cells == "default" else "stored"
        raise UserError(
            f"no {origin} cell of budget '{selection.budget}' remains after --framework, "
            f"--algorithm and --hyperparameters; stored: {stored_names}; choose with "
            "--cells, record more with rlregress baseline record, or test formulas and behaviour "
            "only: rlregress test tests_unit tests_behavior --framework <name>"
        )
    return cells


def _list_cell_ids_of_frameworks(
    cells_by_id: Mapping[str, Cell], framework_names: Container[str]
) -> list[str]:
    return [id for id, cell in cells_by_id.items() if cell.framework in framework_names]

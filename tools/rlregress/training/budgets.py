"""Training budgets, read from ``baselines/budgets.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, frameworks, suite
from rlregress.catalogue import hyperparameter_names
from rlregress.datafiles import Count, Line, Value
from rlregress.errors import UserError, suggest_names
from rlregress.hyperparameters import list_hyperparameter_sets, read_hyperparameters
from rlregress.inside.worker import NATIVE
from rlregress.training.cell import Arithmetic, Cell, Protocol

#: limit for the runs of one cell, stored or new
MAX_SEEDS = 1000
#: rates that default to the learning rate of a set
_FURTHER_RATES = ("critic_learning_rate", "temperature_learning_rate")


@dataclass(frozen=True)
class _Table:
    """The settings of one budget: lengths of trainings, evaluations, and number of runs.

    Attributes:
        total_steps: environment steps by algorithm.
        evaluations: evaluations per run, evenly spread; the last one is after the training.
        evaluation_episodes: deterministic episodes per evaluation.
        seeds: new runs per cell in a session.
        judged: whether returns are compared with stored runs.
        arithmetic: arithmetic of the budget's runs.
        replay: budget of the runs that are replayed before fresh seeds; empty: none are.
        published: table of published returns for cells without stored runs; empty: none.
        hyperparameters: by hyperparameter set and algorithm, the values that differ from the set.
    """

    total_steps: Mapping[str, Count]
    evaluations: Count
    evaluation_episodes: Count
    seeds: Annotated[int, Field(ge=1, le=MAX_SEEDS)]
    judged: bool
    arithmetic: Arithmetic = NATIVE
    replay: str = ""
    published: str = ""
    hyperparameters: Mapping[Line, Mapping[Line, Mapping[Line, Value]]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, kw_only=True)
class Budget(_Table):
    """A training budget of ``baselines/budgets.toml`` with its name."""

    name: str

    def make_protocol_of_algorithm(self, algorithm: str) -> Protocol:
        """Return the protocol of a run of ``algorithm``; UserError if the budget has none."""
        if algorithm not in self.total_steps:
            raise UserError(
                f"budget '{self.name}' has no step count for algorithm '{algorithm}'; "
                f"it has: {', '.join(sorted(self.total_steps))}"
            )
        steps = self.total_steps[algorithm]
        return Protocol(steps, -(-steps // self.evaluations), self.evaluation_episodes)


def load_budget(name: str) -> Budget:
    """Return the budget called ``name``; UserError if there is none."""
    path = suite.locate_baselines() / "budgets.toml"
    tables = datafiles.read_data_file_cached(path, Mapping[str, _Table])
    if not tables:
        raise UserError(f"{path} holds no budgets; expected tables such as [short]: restore it")
    if name not in tables:
        raise UserError(f"unknown budget '{name}'; {suggest_names(name, tables)}")
    return Budget(name=name, **vars(tables[name]))


def _find_hyperparameters_of_algorithm(set_name: str, algorithm: str) -> Mapping[str, Any]:
    sets = read_hyperparameters(set_name)
    if algorithm not in sets:
        raise UserError(
            f"the hyperparameter set '{set_name}' has no algorithm '{algorithm}'; "
            f"{suggest_names(algorithm, sets)}"
        )
    return sets[algorithm]


def resolve_hyperparameters_of_cell(cell: Cell, cell_budget: Budget) -> dict[str, Any]:
    """Return the hyperparameters of a cell: those of its set, with the budget's changes.

    Values that the set lacks come from the framework's own set, except that a single learning rate
    applies to all networks. Of another framework's set only the names in the thesis' tables are
    used: the rest, such as initial gains, belongs to that framework's code.
    """
    values = _find_hyperparameters_of_algorithm(cell.hyperparameters, cell.algorithm)
    if (
        cell.hyperparameters in frameworks.list_framework_names()
        and cell.hyperparameters != cell.framework
    ):
        shared = hyperparameter_names.list_hyperparameters_of_thesis(cell.algorithm)
        values = {name: value for name, value in values.items() if name in shared}
    own = (
        _find_hyperparameters_of_algorithm(cell.framework, cell.algorithm)
        if cell.framework in list_hyperparameter_sets()
        else values
    )
    rates = {name: values["learning_rate"] for name in _FURTHER_RATES if name in own}
    changes = cell_budget.hyperparameters.get(cell.hyperparameters, {}).get(cell.algorithm, {})
    return {**own, **rates, **values, **changes}

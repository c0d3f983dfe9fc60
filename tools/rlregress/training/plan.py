"""From names to jobs, with one clear sentence for a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

import gymnasium

from rlregress import frameworks
from rlregress.errors import UserError, nearest
from rlregress.training import identity
from rlregress.training.budgets import Budget, budget, hyperparameters
from rlregress.training.cell import Cell, Job


def check(cell: Cell) -> None:
    """UserError if the framework, its algorithm, the environment or the budget is unknown."""
    adapter = frameworks.get(cell.framework)
    if cell.algorithm not in adapter.algorithms:
        raise UserError(
            f"{adapter.title} has no algorithm '{cell.algorithm}'; "
            f"{nearest(cell.algorithm, adapter.algorithms)}"
        )
    try:
        gymnasium.spec(cell.environment)
    except gymnasium.error.Error as error:
        raise UserError(
            f"unknown environment '{cell.environment}': gymnasium {gymnasium.__version__} says: "
            f"{error}"
        ) from None
    hyperparameters(cell, budget(cell.budget))


def jobs(cell: Cell, seeds: Iterable[int]) -> list[Job]:
    """One job per seed, for the code that is installed now."""
    check(cell)
    adapter = frameworks.get(cell.framework)
    of_budget: Budget = budget(cell.budget)
    versions = identity.versions(adapter)
    return [
        Job(
            cell=cell,
            seed=seed,
            protocol=of_budget.protocol(cell.algorithm),
            hyperparameters=hyperparameters(cell, of_budget),
            versions=versions,
            sources=identity.sources(adapter),
        )
        for seed in seeds
    ]

"""From names to jobs, with one clear sentence for a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import gymnasium

from rlregress import frameworks
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter
from rlregress.training import identity
from rlregress.training.budgets import Budget, budget, hyperparameters
from rlregress.training.cell import Cell, Job


def check(cell: Cell) -> None:
    """UserError if the framework, its algorithm, the environment or the budget is unknown."""
    adapter = frameworks.get(cell.framework)
    if cell.algorithm not in adapter.algorithms:
        raise UserError(not_trained(cell.algorithm, [adapter], adapter.algorithms))
    try:
        gymnasium.spec(cell.environment)
    except gymnasium.error.Error as error:
        raise UserError(
            f"unknown environment '{cell.environment}': gymnasium {gymnasium.__version__} says: "
            f"{error}"
        ) from None
    hyperparameters(cell, budget(cell.budget))


def not_trained(algorithm: str, adapters: Sequence[Adapter], known: Sequence[str]) -> str:
    """That an algorithm is none of those trained for their returns; and whether it is traced.

    Args:
        adapters: the frameworks that were asked for.
        known: their algorithms that are trained.
    """
    of = ", ".join(adapter.title for adapter in adapters)
    for adapter in adapters:
        if algorithm in adapter.trace_trainings():
            return (
                f"'{algorithm}' of {of} is traced, and not trained for its returns; to trace it: "
                f"rlregress trace --framework {adapter.name} --algorithm {algorithm}; trained for "
                f"their returns: {', '.join(sorted(known))}"
            )
    return f"unknown algorithm '{algorithm}' of {of}; {nearest(algorithm, known)}"


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

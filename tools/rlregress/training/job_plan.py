"""From names to jobs, with one clear sentence for a name that does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache

import gymnasium

from rlregress import frameworks, missing_packages
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter
from rlregress.inside import identity
from rlregress.probing.interface import Unsupported
from rlregress.probing.isolation import isolated
from rlregress.training.budgets import MOST_SEEDS, Budget, budget, hyperparameters
from rlregress.training.cell import LAST_SEED, Cell, Job


def check(cell: Cell) -> None:
    """UserError if the framework, its algorithm, the environment or the budget is unknown.

    So, too, if the algorithm takes no such actions as the environment does.

    Raises:
        MissingPackage: all is known, and the environment needs a package that is not installed.
    """
    adapter = frameworks.get(cell.framework)
    if cell.algorithm not in adapter.framework.algorithms:
        raise UserError(not_trained(cell.algorithm, [adapter], adapter.framework.algorithms))
    try:
        spec = gymnasium.spec(cell.environment)
    except gymnasium.error.Error as error:
        raise UserError(
            f"unknown environment '{cell.environment}': gymnasium {gymnasium.__version__} says: "
            f"{error}"
        ) from None
    hyperparameters(cell, budget(cell.budget))
    # what an environment is made of says what it needs: making it would import it
    if "mujoco" in str(spec.entry_point).split("."):
        missing_packages.require("mujoco")
    elif cell.algorithm not in adapter.framework.discrete and (
        actions := _other_actions(cell.environment)
    ):
        raise UserError(
            f"{cell.environment} takes actions of {actions}, and '{cell.algorithm}' of "
            f"{adapter} is trained with continuous ones here; name another environment"
        )


@cache
def _other_actions(environment: str) -> str:
    """The space of actions that are not continuous; empty: they are, or it cannot be made here."""
    try:
        with isolated(), closing(gymnasium.make(environment)) as made:
            space = made.action_space
    except Exception:  # foreign code; each training says so itself
        return ""
    return "" if isinstance(space, gymnasium.spaces.Box) else str(space)


def exclusion_reason(cell: Cell) -> str:
    """Which hyperparameters of its set the framework cannot take, in one sentence; empty: none.

    Asked of the framework itself, by building an agent; its own set is known to fit.
    """
    if cell.hyperparameters == cell.framework:
        return ""
    return _exclusion_reason(replace(cell, environment=""))


@cache
def _exclusion_reason(cell: Cell) -> str:
    try:
        with isolated():
            frameworks.get(cell.framework).read.applied(
                cell.algorithm, hyperparameters(cell, budget(cell.budget))
            )
    except (UserError, Unsupported) as error:
        return str(error)
    except ModuleNotFoundError as error:
        # an adapter outside of this repository that trains nothing
        return f"{cell.framework} cannot be asked which hyperparameters it takes: {error}"
    return ""


def not_trained(algorithm: str, adapters: Sequence[Adapter], known: Sequence[str]) -> str:
    """That an algorithm is none of those trained for their returns; and whether it is traced.

    Args:
        adapters: the frameworks that were asked for.
        known: their algorithms that are trained.
    """
    of = ", ".join(map(str, adapters))
    every = {
        name
        for known_name in frameworks.names()
        for name in frameworks.get(known_name).framework.algorithms
    }
    tested = {name for adapter in adapters for name in adapter.framework.behavior_only}
    copies = " or ".join(f"--{own.name} FOLDER" for own in adapters if own.framework.checkout)
    if copies and not known and not tested and algorithm in every:
        return (
            f"'{algorithm}' of {of} cannot be trained with the copy that is here; name a checkout "
            f"that can with {copies}"
        )
    for adapter in adapters:
        if algorithm in adapter.trace_trainings():
            return (
                f"'{algorithm}' of {of} is traced, and not trained for its returns; to trace it: "
                f"rlregress trace --framework {adapter.name} --algorithm {algorithm}; trained for "
                f"their returns: {', '.join(sorted(known)) or 'none'}"
            )
    if algorithm in tested:
        return (
            f"'{algorithm}' of {of} is tested for its behaviour, and not trained for its returns; "
            f"to test it: rlregress test tests_behavior --algorithm {algorithm}"
        )
    own = known or sorted(tested or every)
    return f"unknown algorithm '{algorithm}' of {of}; {nearest(algorithm, own)}"


def check_first_seed(first_seed: int, least: int = 0) -> None:
    """UserError that names ``--first-seed`` if runs can have no such seeds."""
    if not least <= first_seed <= LAST_SEED - MOST_SEEDS:
        raise UserError(
            f"--first-seed is {first_seed}, expected {least} to {LAST_SEED - MOST_SEEDS}: stored "
            "runs have the seeds below, and frameworks take none far above"
        )


def jobs(cell: Cell, seeds: Sequence[int]) -> list[Job]:
    """One job per seed, for the code that is here.

    Raises:
        UserError: the cell cannot be trained, or a seed is none that runs can have.
    """
    for seed in seeds[:1]:
        check_first_seed(seed)
    check(cell)
    reason = exclusion_reason(cell)
    if reason:
        raise UserError(reason)
    adapter = frameworks.get(cell.framework)
    of_budget: Budget = budget(cell.budget)
    versions, sources = identity.versions(adapter), identity.sources(adapter)
    first = Job(
        cell=cell,
        seed=0,
        protocol=of_budget.protocol(cell.algorithm),
        hyperparameters=hyperparameters(cell, of_budget),
        versions=versions,
        sources=sources,
        arithmetic=of_budget.arithmetic,
    )
    return first.with_seeds(seeds)

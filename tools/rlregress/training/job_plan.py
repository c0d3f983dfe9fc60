"""Plans jobs from names. An unknown name raises UserError."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache

import gymnasium

from rlregress import frameworks, missing_packages
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.inside import identity
from rlregress.probing.interface import Unsupported
from rlregress.probing.isolation import isolate_random_generators
from rlregress.training.budgets import (
    MAX_SEEDS,
    Budget,
    load_budget,
    resolve_hyperparameters_of_cell,
)
from rlregress.training.cell import MAX_SEED, Cell, Job


def check_cell_can_be_trained(cell: Cell) -> None:
    """Raise UserError if the framework, its algorithm, the environment or the budget is unknown.

    Also raises if the algorithm cannot take the actions of the environment.

    Raises:
        MissingPackage: all names are known, but the environment needs a package that is missing.
    """
    adapter = frameworks.get_adapter(cell.framework)
    if cell.algorithm not in adapter.framework.algorithms:
        raise UserError(
            explain_why_not_trained(cell.algorithm, [adapter], adapter.framework.algorithms)
        )
    try:
        spec = gymnasium.spec(cell.environment)
    except gymnasium.error.Error as error:
        raise UserError(
            f"unknown environment '{cell.environment}': gymnasium {gymnasium.__version__} says: "
            f"{error}"
        ) from None
    resolve_hyperparameters_of_cell(cell, load_budget(cell.budget))
    # the entry point names the package; building the environment would import it
    if "mujoco" in str(spec.entry_point).split("."):
        missing_packages.require_module("mujoco")
    elif cell.algorithm not in adapter.framework.discrete and (
        actions := describe_discrete_actions(cell.environment)
    ):
        raise UserError(
            f"{cell.environment} takes actions of {actions}, and '{cell.algorithm}' of "
            f"{adapter} is trained with continuous ones here; name another environment"
        )


@cache
def describe_discrete_actions(environment: str) -> str:
    """Return the action space of an environment as text if it is not continuous, else ""."""
    # empty also where the environment cannot be built here
    try:
        with isolate_random_generators(), closing(gymnasium.make(environment)) as gym_env:
            space = gym_env.action_space
    except Exception:  # foreign code; each training reports its error
        return ""
    return "" if isinstance(space, gymnasium.spaces.Box) else str(space)


def explain_rejected_hyperparameters(cell: Cell) -> str:
    """Return why the framework cannot take the hyperparameters of its set; empty if it can.

    The framework itself checks them: an agent is built. Its own set always fits.
    """
    if cell.hyperparameters == cell.framework:
        return ""
    return _ask_framework_why_rejected(replace(cell, environment=""))


@cache
def _ask_framework_why_rejected(cell: Cell) -> str:
    try:
        with isolate_random_generators():
            frameworks.get_adapter(cell.framework).read.read_applied_hyperparameters(
                cell.algorithm, resolve_hyperparameters_of_cell(cell, load_budget(cell.budget))
            )
    except (UserError, Unsupported) as error:
        return str(error)
    except ModuleNotFoundError as error:
        # an external adapter without trainings
        return f"the hyperparameters of {cell.framework} could not be checked: {error}"
    return ""


def explain_why_not_trained(
    algorithm: str, adapters: Sequence[Adapter], trained: Sequence[str]
) -> str:
    """Describe why an algorithm is not trained for returns, and whether it is traced.

    Args:
        adapters: the requested frameworks.
        trained: their trained algorithms.
    """
    titles = ", ".join(adapter.framework.title for adapter in adapters)
    trained_anywhere = {
        algorithm
        for adapter in frameworks.list_adapters()
        for algorithm in adapter.framework.algorithms
    }
    tested = {name for adapter in adapters for name in adapter.framework.behavior_only}
    folder_options = " or ".join(
        f"--{adapter.name} FOLDER" for adapter in adapters if adapter.framework.checkout
    )
    if folder_options and not trained and not tested and algorithm in trained_anywhere:
        return (
            f"'{algorithm}' of {titles} cannot be trained with the copy that is here; name a "
            f"checkout that can with {folder_options}"
        )
    for adapter in adapters:
        if algorithm in adapter.list_trace_trainings():
            return (
                f"'{algorithm}' of {titles} is traced, and not trained for its returns; to trace "
                f"it: rlregress trace --framework {adapter.name} --algorithm {algorithm}; trained "
                f"for their returns: {', '.join(sorted(trained)) or 'none'}"
            )
    if algorithm in tested:
        return (
            f"'{algorithm}' of {titles} is tested for its behaviour, and not trained for its "
            f"returns; to test it: rlregress test tests_behavior --algorithm {algorithm}"
        )
    candidates = trained or sorted(tested or trained_anywhere)
    return f"unknown algorithm '{algorithm}' of {titles}; {suggest_names(algorithm, candidates)}"


def check_first_seed(first_seed: int, minimum: int = 0) -> None:
    """Raise UserError naming ``--first-seed`` if runs cannot have such seeds."""
    if not minimum <= first_seed <= MAX_SEED - MAX_SEEDS:
        reason = "; lower seeds belong to the stored runs" if minimum else ""
        raise UserError(
            f"--first-seed is {first_seed}, expected {minimum} to {MAX_SEED - MAX_SEEDS}{reason}"
        )


def plan_jobs_of_cell(cell: Cell, seeds: Sequence[int]) -> list[Job]:
    """Return one job per seed for the installed code.

    Raises:
        UserError: the cell cannot be trained, or a seed is out of range.
    """
    for seed in seeds[:1]:
        check_first_seed(seed)
    check_cell_can_be_trained(cell)
    reason = explain_rejected_hyperparameters(cell)
    if reason:
        raise UserError(reason)
    adapter = frameworks.get_adapter(cell.framework)
    cell_budget: Budget = load_budget(cell.budget)
    versions, sources = (
        identity.map_package_versions(adapter),
        identity.digest_tested_sources(adapter),
    )
    first = Job(
        cell=cell,
        seed=0,
        protocol=cell_budget.make_protocol_of_algorithm(cell.algorithm),
        hyperparameters=resolve_hyperparameters_of_cell(cell, cell_budget),
        versions=versions,
        sources=sources,
        arithmetic=cell_budget.arithmetic,
    )
    return first.make_jobs_of_seeds(seeds)

"""What hyperparameters a framework cannot be set to, and what some are converted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlregress.errors import UserError


def refuse(who: str, reasons: Sequence[str]) -> None:
    """UserError that says what of a hyperparameter set cannot be set, if there are reasons.

    Args:
        who: what was to be set, such as the class or the script of an algorithm.
        reasons: one clause for each hyperparameter, or each group of them.
    """
    if reasons:
        raise UserError(
            f"{who} cannot be set to these hyperparameters: {'; '.join(reasons)}; expected another "
            "hyperparameter set, or another framework or algorithm"
        )


def without_fixed(
    fixed: Mapping[tuple[str, str], Any], algorithm: str, hyperparameters: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The hyperparameters that the framework does not fix, and a reason for each that differs.

    Args:
        fixed: (algorithm, hyperparameter) -> the value that it has, and that no argument sets.

    Returns:
        What is left to be set, and one clause for ``refuse`` for each fixed hyperparameter that
        was asked to be something else.
    """
    ours = {
        name: value
        for (other_algorithm, name), value in fixed.items()
        if other_algorithm == algorithm
    }
    reasons = [
        f"{name} is {value} and no argument sets it, found {hyperparameters[name]}"
        for name, value in ours.items()
        if hyperparameters.get(name, value) != value
    ]
    return {name: value for name, value in hyperparameters.items() if name not in ours}, reasons


def with_exploration_fraction(
    hyperparameters: Mapping[str, Any], total_steps: int
) -> dict[str, Any]:
    """The steps in which exploration falls as a fraction of all steps, which some are told."""
    given = dict(hyperparameters)
    if "exploration_steps" in given:
        given["exploration_fraction"] = given.pop("exploration_steps") / total_steps
    return given

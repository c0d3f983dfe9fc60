"""Hyperparameters that a framework cannot be set to, and conversions of others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rlregress.errors import UserError


def raise_if_unusable(target: str, reasons: Sequence[str], unknown: Collection[str] = ()) -> None:
    """Raise UserError if there are reasons why a hyperparameter set cannot be used.

    Args:
        target: the class or the script of an algorithm that was to be set.
        reasons: one clause for each hyperparameter, or each group of them.
        unknown: hyperparameters that it has no argument for.
    """
    if unknown:
        reasons = [*reasons, f"it has no {', '.join(sorted(unknown))}"]
    if reasons:
        raise UserError(
            f"{target} cannot be set to these hyperparameters: {'; '.join(reasons)}; expected "
            "another hyperparameter set, or another framework or algorithm"
        )


def split_off_fixed_hyperparameters(
    fixed: Mapping[tuple[str, str], Any], algorithm: str, hyperparameters: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the hyperparameters that can be set, and reasons against fixed ones of another value.

    Args:
        fixed: (algorithm, hyperparameter) -> the value that it has, and that no argument sets.

    Returns:
        Hyperparameters to be set, and a clause of ``raise_if_unusable`` for each fixed one
        that was requested with another value.
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


def convert_exploration_steps_to_fraction(
    hyperparameters: Mapping[str, Any], total_steps: int
) -> dict[str, Any]:
    """Return hyperparameters with ``exploration_steps`` as a fraction of all steps."""
    converted = dict(hyperparameters)
    if "exploration_steps" in converted:
        converted["exploration_fraction"] = converted.pop("exploration_steps") / total_steps
    return converted

"""The details of TRPO, each measured by updates of a Gaussian policy on known actions.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

Inputs = Mapping[str, Any]


class PolicyUpdate(Protocol):
    """A callable that runs one update of a Gaussian policy, from mean 0 and deviation 1."""

    def __call__(
        self,
        actions: Sequence[float],
        advantages: Sequence[float],
        bound: float | None = None,
        damping: float | None = None,
    ) -> tuple[float, float]:
        """Return the mean and the logarithm of the deviation after the update.

        Args:
            actions: of the rollout [n]; observations are 0.
            advantages: of these [n], not normalised.
            bound: of the divergence; None: as by default.
            damping: of the Fisher matrix; None: as by default.
        """


def _measure_divergence(update: PolicyUpdate, **settings: float) -> float:
    """Return KL divergence of an update that moves the mean alone."""
    mean, _ = update([1.0, -1.0], [1.0, -1.0], **settings)
    return 0.5 * mean**2


def measure_kl_bound(update: PolicyUpdate, inputs: Inputs) -> np.ndarray:
    """Measure the default bound on the KL divergence of an update."""
    bound = inputs["bound"]
    default = _measure_divergence(update)
    return np.array([bound * default / _measure_divergence(update, bound=bound)])


def measure_effect_of_damping(update: PolicyUpdate, inputs: Inputs) -> np.ndarray:
    """Return the KL divergence of an update with the default damping, divided by the bound."""
    bound = inputs["bound"]
    return np.array([_measure_divergence(update, bound=bound) / bound])


def _measure_share_of_longest_step(
    update: PolicyUpdate, actions: Sequence[float], advantages: Sequence[float], bound: float
) -> float:
    """Return the change of the log deviation as a share of the longest step, without damping."""
    _, log_std = update(actions, advantages, bound=bound, damping=0.0)
    return float(abs(log_std) / np.sqrt(bound))


def measure_line_search(update: PolicyUpdate, inputs: Inputs) -> np.ndarray:
    """Return for each case the length of the step that the line search takes, over the longest."""
    cases = zip(inputs["actions"], inputs["advantages"], strict=False)
    return np.array(
        [
            _measure_share_of_longest_step(update, actions, advantages, inputs["bound"])
            for actions, advantages in cases
        ]
    )


def measure_shortened_step_length(update: PolicyUpdate, inputs: Inputs) -> np.ndarray:
    """Return the step's length over the longest one, where only a shortened step improves."""
    action = inputs["action"]
    return np.array(
        [_measure_share_of_longest_step(update, [action, -action], [1.0, 1.0], inputs["bound"])]
    )


def measure_direction_of_step(update: PolicyUpdate, inputs: Inputs) -> np.ndarray:
    """Return the direction of the step: change of the log deviation over that of the mean."""
    mean, log_std = update([inputs["action"]] * 2, [1.0, 1.0], bound=1e-3, damping=0.0)
    return np.array([log_std / mean])


#: detail id -> its measurement.
MEASUREMENTS: Mapping[str, Callable[[PolicyUpdate, Inputs], np.ndarray]] = {
    "trpo.kl.bound": measure_kl_bound,
    "trpo.damping": measure_effect_of_damping,
    "trpo.line_search": measure_line_search,
    "trpo.line_search.expected": measure_shortened_step_length,
    "trpo.direction": measure_direction_of_step,
}

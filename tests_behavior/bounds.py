"""Two ways to keep the action of a Gaussian policy within its bounds, and their laws.

Thesis, appendix C.3: N clip and N tanh. Numbers [n, dimensions] are before the bounding, in
standard deviations from the mean, or in the units of the policy's output.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bounds:
    """The bounds of the actions, each float [dimensions]."""

    low: np.ndarray
    high: np.ndarray

    @property
    def half_widths(self) -> np.ndarray:
        """Half of the widths of the bounds, float [dimensions]."""
        return (self.high - self.low) / 2

    def clip_outputs(self, outputs: np.ndarray) -> np.ndarray:
        return np.clip(outputs, self.low, self.high)

    def squash_outputs(self, outputs: np.ndarray) -> np.ndarray:
        """Return the tanh of the outputs, scaled to the bounds: an output of 0 is their middle."""
        return self.low + (np.tanh(outputs) + 1) * self.half_widths

    def bound_outputs(self, bounding: str, outputs: np.ndarray) -> np.ndarray:
        """Return the outputs within the bounds: by ``bounding`` "clip" or "tanh"."""
        return self.clip_outputs(outputs) if bounding == "clip" else self.squash_outputs(outputs)


def compute_probability_inside(bounds: Bounds, mean: np.ndarray, deviation: np.ndarray) -> float:
    """Return the probability that a Gaussian is within the bounds in all dimensions."""
    ends = [(bound - mean) / deviation / math.sqrt(2.0) for bound in (bounds.high, bounds.low)]
    shares = [(math.erf(a) - math.erf(b)) / 2 for a, b in zip(*ends, strict=True)]
    return math.prod(shares)


def make_grid(lowest: np.ndarray, highest: np.ndarray, points: int) -> np.ndarray:
    """Return a grid between two corners [dimensions]: [points^dimensions, dimensions]."""
    axes = [np.linspace(a, b, points) for a, b in zip(lowest, highest, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))


def integrate_over_grid(
    actions: np.ndarray, log_probs: np.ndarray, dimensions: int, points: int
) -> float:
    """Integrate a density over the actions of a ``make_grid``, by the trapezoidal rule."""
    places = actions.reshape(*[points] * dimensions, dimensions)
    density = np.exp(log_probs.astype(np.float64)).reshape([points] * dimensions)
    for dimension in reversed(range(dimensions)):
        # along one axis of the grid only the action of that dimension moves
        first = (0,) * dimension + (slice(None),) + (0,) * (dimensions - dimension - 1)
        density = np.trapezoid(density, places[(*first, dimension)], axis=dimension)
    return float(density)


def measure_distance(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest distance of two empirical distribution functions, of [n] and [m] numbers.

    ``expected`` is a large sample, or quantiles, of the expected law; both may hold atoms.
    """
    places = np.concatenate([observed, expected])
    shares = [
        np.searchsorted(np.sort(sample), places + 1e-6, side="right") / len(sample)
        for sample in (observed, expected)
    ]
    return float(np.max(np.abs(shares[0] - shares[1])))


def bound_distance(n: int, false_alarm: float) -> float:
    """Return the distance that n draws of the expected law exceed with at most this probability.

    Dvoretzky, Kiefer and Wolfowitz, with Massart's constant; it holds for laws with atoms too.
    """
    return math.sqrt(math.log(2.0 / false_alarm) / (2.0 * n))

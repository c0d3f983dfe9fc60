"""Return laws for simulations, shaped like published cells: skewed, two modes, ceilings.

Every law has mean 1 and a relative standard deviation of 14 to 46 %. Each is a function of
(generator, shape, drop): float64 returns of that shape whose mean is 1 - drop. In the six laws
without a ceiling every return shrinks by the drop; at a ceiling more seeds collapse, which is how
such a cell gets worse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Law = Callable[[np.random.Generator, tuple[int, ...], float], FloatArray]


def _scaled(draw: Callable[[np.random.Generator, tuple[int, ...]], FloatArray]) -> Law:
    return lambda rng, shape, drop: draw(rng, shape) * (1.0 - drop)


def _normal(relative_sd: float) -> Law:
    return _scaled(lambda rng, shape: rng.normal(1.0, relative_sd, shape))


def _gamma(relative_sd: float, shape_parameter: float, sign: int) -> Law:
    """Return a gamma law (long upper tail), or its mirror image (long lower tail)."""
    middle, width = shape_parameter, np.sqrt(shape_parameter)
    return _scaled(
        lambda rng, shape: (
            1.0 + sign * relative_sd * (rng.gamma(shape_parameter, size=shape) - middle) / width
        )
    )


def _two_modes(share_low: float, low: float, high: float, width: float) -> Law:
    """Return a mixture of two normal laws with mean 1: some seeds find the worse gait."""
    mean = share_low * low + (1 - share_low) * high

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        centre = np.where(rng.random(shape) < share_low, low, high)
        return (centre + width * rng.standard_normal(shape)) / mean

    return _scaled(draw)


def _ceiling(share_failing: float, low: float, high: float) -> Law:
    """Most seeds reach the ceiling exactly; failing ones end between ``low`` and ``high``.

    ``low`` and ``high`` are shares of the ceiling.
    """
    loss = 1.0 - (low + high) / 2
    healthy_mean = 1.0 - share_failing * loss

    def draw(rng: np.random.Generator, shape: tuple[int, ...], drop: float) -> FloatArray:
        share = share_failing + drop * healthy_mean / loss
        failing = rng.random(shape) < share
        return np.where(failing, rng.uniform(low, high, shape), 1.0) / healthy_mean

    return draw


#: Eight environments of one (framework, algorithm) group.
LAWS: dict[str, Law] = {
    "normal, sd 14 %": _normal(0.14),
    "normal, sd 30 %": _normal(0.30),
    "long lower tail, sd 25 %": _gamma(0.25, 2.0, -1),
    "long upper tail, sd 40 %": _gamma(0.40, 2.0, +1),
    "two modes, 30 % low, sd 39 %": _two_modes(0.3, 0.4, 1.2, 0.06),
    "two modes, 50 % low, sd 46 %": _two_modes(0.5, 0.55, 1.45, 0.1),
    "ceiling, 5 % fail, sd 18 %": _ceiling(0.05, 0.1, 0.4),
    "ceiling, 10 % fail, sd 28 %": _ceiling(0.10, 0.0, 0.3),
}


def resampled(returns: FloatArray) -> Law:
    """Return the law of stored returns [m]: drawn with replacement, the drop subtracted.

    Args:
        returns: as shares of their scale, so that a drop is a share of it too.
    """
    return lambda rng, shape, drop: rng.choice(returns, shape) - drop

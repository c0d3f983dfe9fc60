"""References of trust region policy optimisation: numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from rlregress.formulas import trpo


def test_the_fisher_information_is_the_curvature_of_the_divergence() -> None:
    """A mean moved by h has a KL divergence of h^2 / 2, a log deviation moved by h one of h^2."""
    step = 1e-3

    def divergence(mean: float, log_std: float) -> float:
        new = stats.norm(mean, np.exp(log_std))
        value, _ = integrate.quad(
            lambda x: new.pdf(x) * (new.logpdf(x) - stats.norm.logpdf(x)), -12.0, 12.0
        )
        return float(value)

    information = trpo.fisher()
    assert divergence(step, 0.0) == pytest.approx(0.5 * information[0, 0] * step**2, rel=1e-2)
    assert divergence(0.0, step) == pytest.approx(0.5 * information[1, 1] * step**2, rel=1e-2)


def test_the_gradient_is_that_of_the_log_density() -> None:
    """At action 2: 2 for the mean, and 3 for the log deviation."""
    assert trpo.gradient(2.0).tolist() == [2.0, 3.0]


def test_damping_shortens_the_step() -> None:
    """A tenth of the identity leaves 10/11 of the bound; none leaves it whole."""
    assert trpo.damped_divergence(0.1) == pytest.approx(10.0 / 11.0)
    assert trpo.damped_divergence(0.0) == 1.0

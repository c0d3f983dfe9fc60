"""Measure the gates on the laws of ``laws.py`` and on the stored runs.

    python -m tools.tests.simulations.simulate_stored

Its options are those of ``python -m tools.tests.simulations.simulate_gates``.
"""

from __future__ import annotations

import numpy as np

from rlregress.check import baseline_runs
from rlregress.model.quantities import compute_returns_scale
from tools.tests.simulations import simulate_gates
from tools.tests.simulations.laws import LAWS, Law, resampled


def stored_laws() -> list[Law]:
    """Return one law for each cell of ``baselines/returns``: its runs, drawn with replacement."""
    returns = [np.array(stored.returns) for stored in baseline_runs.load_all_baselines()]
    return [resampled(values / compute_returns_scale(values)) for values in returns]


if __name__ == "__main__":
    simulate_gates.main(sources={"laws": tuple(LAWS.values()), "stored runs": stored_laws()})

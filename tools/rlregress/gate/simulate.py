"""Measure the gates on the laws of ``verdicts/laws.py`` and on the stored runs.

    python -m rlregress.gate.simulate

Its options are those of ``python -m rlregress.verdicts.simulate``.
"""

from __future__ import annotations

import numpy as np

from rlregress.gate import baseline
from rlregress.model.quantities import scale_of
from rlregress.verdicts import simulate
from rlregress.verdicts.laws import LAWS, Law, resampled


def stored_laws() -> list[Law]:
    """One law for each cell of ``baselines/returns``: its runs, drawn with replacement."""
    returns = [np.array(stored.returns) for stored in baseline.every()]
    return [resampled(values / scale_of(values)) for values in returns]


if __name__ == "__main__":
    simulate.main(sources={"laws": tuple(LAWS.values()), "stored runs": stored_laws()})

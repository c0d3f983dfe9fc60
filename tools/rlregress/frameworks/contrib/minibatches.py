"""What the updates of SB3-Contrib read, by the code that notes what those of SB3 do."""

from __future__ import annotations

from functools import partial

import numpy as np
from sb3_contrib.qrdqn import qrdqn
from sb3_contrib.tqc import tqc

from rlregress.frameworks.contrib.training import LIBRARY
from rlregress.frameworks.sb3 import minibatches as of_sb3
from rlregress.probing.samples import noted_targets


def _mean_of_quantiles(targets: np.ndarray, rows: int) -> np.ndarray:
    return targets.reshape(rows, -1).mean(1, dtype=np.float64)


_noted = partial(
    noted_targets,
    losses=[(module, "quantile_huber_loss") for module in (qrdqn, tqc)],
    of_rows=_mean_of_quantiles,
)
minibatches = partial(of_sb3.minibatches, library=LIBRARY, noted=_noted)

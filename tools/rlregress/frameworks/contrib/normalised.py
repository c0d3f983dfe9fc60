"""The statistics of VecNormalize around agents of SB3-Contrib, by the code for those of SB3."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.contrib.training import LIBRARY
from rlregress.frameworks.sb3 import normalised as of_sb3

running_statistics = partial(of_sb3.running_statistics, library=LIBRARY)

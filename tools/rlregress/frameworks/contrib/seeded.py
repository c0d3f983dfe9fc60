"""QR-DQN of SB3-Contrib with a seed for each source of chance, by the code for DQN of SB3."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.contrib.training import LIBRARY
from rlregress.frameworks.sb3 import seeded as of_sb3

SOURCES = of_sb3.SOURCES
train_seeded = partial(of_sb3.train_seeded, library=LIBRARY)

"""What SB3-Contrib stores while it learns, by the code that looks into SB3's buffers."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.contrib.training import LIBRARY
from rlregress.frameworks.sb3 import collection as of_sb3

transitions = partial(of_sb3.transitions, library=LIBRARY)

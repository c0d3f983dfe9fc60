"""Trainings of SB3-Contrib in two halves, by the code that resumes those of SB3."""

from __future__ import annotations

from functools import partial

from rlregress.frameworks.contrib.training import LIBRARY
from rlregress.frameworks.sb3 import resume as of_sb3

train_and_resume = partial(of_sb3.train_and_resume, library=LIBRARY)

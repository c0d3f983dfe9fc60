"""Probes apart from each other: what one draws at random is no matter of what was drawn before."""

from __future__ import annotations

import contextlib
import random
from typing import Iterator

import numpy as np

from rlregress.frameworks.base import Inputs, Probe


@contextlib.contextmanager
def isolated() -> Iterator[None]:
    """Seed the generators of random, NumPy and torch (on the CPU) for as long as this lasts.

    Afterwards they are as they were, and so is torch's default type.
    """
    import torch

    python_state, numpy_state = random.getstate(), np.random.get_state()
    dtype = torch.get_default_dtype()
    try:
        with torch.random.fork_rng(devices=[]):
            random.seed(0)
            np.random.seed(0)
            # that of the CPU: for other kinds of device torch.manual_seed keeps a traceback
            torch.default_generator.manual_seed(0)
            yield
    finally:
        torch.set_default_dtype(dtype)
        np.random.set_state(numpy_state)
        random.setstate(python_state)


def observe(probe: Probe, inputs: Inputs) -> np.ndarray:
    """What a probe returns for ``inputs``: every probe is asked through this function.

    It is asked in isolation: see :func:`isolated`.
    """
    with isolated():
        return probe(inputs)

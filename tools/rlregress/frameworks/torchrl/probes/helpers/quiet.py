"""A probe leaves nothing behind: no log lines, no warnings, no changed precision."""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from typing import Any, Callable, Iterator

import numpy as np
import torch

from rlregress.frameworks.base import Inputs, NotOffered, Probe, Unprobed

#: inputs -> numbers in any form; :func:`quietly` makes a vector of them.
Raw = Callable[[Inputs], Any]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence TorchRL's logger and all warnings; restore the precision of matrix products."""
    logger = logging.getLogger("torchrl")
    level = logger.level
    precision = torch.get_float32_matmul_precision()
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        logger.setLevel(level)


def quietly(probe: Raw) -> Probe:
    """``probe`` within :func:`quiet`, its result as a float64 vector.

    What the installed version does not have cannot be asked.
    """

    @functools.wraps(probe)
    def run(inputs: Inputs) -> np.ndarray:
        with quiet():
            try:
                return np.atleast_1d(np.asarray(probe(inputs), dtype=np.float64))
            except NotOffered as error:
                raise Unprobed(str(error), known=False) from error

    return run

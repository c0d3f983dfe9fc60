"""A probe leaves nothing behind: no log lines, no warnings, no changed random generators."""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from typing import Any, Callable, Iterator, Mapping

import numpy as np
import torch

from rlregress.frameworks.base import NotOffered, Probe, Unprobed

#: inputs -> numbers in any form; :func:`quietly` makes a vector of them.
Raw = Callable[[Mapping[str, Any]], Any]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence TorchRL's logger and all warnings; seed torch and NumPy and restore them."""
    logger = logging.getLogger("torchrl")
    level = logger.level
    state = np.random.get_state()
    precision = torch.get_float32_matmul_precision()
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            # that of the CPU: for other kinds of device torch.manual_seed keeps a traceback
            torch.default_generator.manual_seed(0)
            np.random.seed(0)
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        np.random.set_state(state)
        logger.setLevel(level)


def quietly(probe: Raw) -> Probe:
    """``probe`` within :func:`quiet`, its result as a float64 vector.

    What the installed version does not have cannot be asked.
    """

    @functools.wraps(probe)
    def run(inputs: Mapping[str, Any]) -> np.ndarray:
        with quiet():
            try:
                return np.atleast_1d(np.asarray(probe(inputs), dtype=np.float64))
            except NotOffered as error:
                raise Unprobed(str(error), known=False) from error

    return run

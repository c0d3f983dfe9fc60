"""A probe leaves nothing behind: no log lines, no warnings, no changed precision."""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from typing import Any, Callable, ContextManager, Iterator
from unittest import mock

import numpy as np
import torch

from rlregress.frameworks.base import Inputs, NotOffered, Probe, Unprobed

#: inputs -> numbers in any form; :func:`quietly` makes a vector of them.
Raw = Callable[[Inputs], Any]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence TorchRL's logger and all warnings; restore the precision of matrix products.

    No step of a CUDA graph is marked: the mark loads torch's compiler, half a second, for nothing.
    """
    logger = logging.getLogger("torchrl")
    level = logger.level
    precision = torch.get_float32_matmul_precision()
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), _no_mark():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        logger.setLevel(level)


def _no_mark() -> ContextManager[Any]:
    if not hasattr(getattr(torch, "compiler", None), "cudagraph_mark_step_begin"):
        return contextlib.nullcontext()
    return mock.patch.object(torch.compiler, "cudagraph_mark_step_begin", return_value=None)


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

"""Silences TorchRL around a probe: no log lines, no warnings, no changed precision."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import torch

from rlregress.probing.interface import Inputs, Probe, Unprobed, Unsupported


@contextlib.contextmanager
def silence_and_speed_up_torchrl() -> Iterator[None]:
    """Silence TorchRL's logger and all warnings; restore the precision of matrix products.

    No step of a CUDA graph is marked: the mark loads torch's compiler, half a second, for nothing.
    What TorchRL checks again for every environment and every number is checked once.
    """
    logger = logging.getLogger("torchrl")
    level = logger.level
    precision = torch.get_float32_matmul_precision()
    logger.setLevel(logging.ERROR)
    try:
        with (
            warnings.catch_warnings(),
            _skip_cuda_graph_marks(),
            _compare_versions_once(),
            _skip_pandas(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        logger.setLevel(level)


def _skip_cuda_graph_marks() -> AbstractContextManager[Any]:
    if not hasattr(getattr(torch, "compiler", None), "cudagraph_mark_step_begin"):
        return contextlib.nullcontext()
    return mock.patch.object(torch.compiler, "cudagraph_mark_step_begin", return_value=None)


def _compare_versions_once() -> AbstractContextManager[Any]:
    """Remember compared versions: every environment compares them for some hundred functions."""
    implementations: Any = getattr(sys.modules.get("torchrl.envs.libs.gym"), "implement_for", None)
    compare = getattr(implementations, "check_version", None)
    if compare is None or hasattr(compare, "cache_info"):
        return contextlib.nullcontext()
    return mock.patch.object(implementations, "check_version", _cache_results(compare))


@functools.lru_cache(maxsize=1)
def _cache_results(function: Callable[..., bool]) -> Any:
    return staticmethod(functools.lru_cache(maxsize=None)(function))


@functools.lru_cache(maxsize=1)
def _pandas_is_installed() -> bool:
    return importlib.util.find_spec("pandas") is not None


@contextlib.contextmanager
def _skip_pandas() -> Iterator[None]:
    """Skip the test of every returned number for being a table of pandas.

    Where pandas is not installed, each test looks for it in all folders. Here ``sys.modules`` says
    at once that it is missing.
    """
    missing = "pandas" not in sys.modules and not _pandas_is_installed()
    if missing:
        sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if missing:
            sys.modules.pop("pandas", None)


def make_quiet_probe(probe: Probe) -> Probe:
    """Return the probe within ``silence_and_speed_up_torchrl``.

    It raises Unprobed where the installed version lacks something.
    """

    @functools.wraps(probe)
    def run_probe_quietly(inputs: Inputs) -> Any:
        with silence_and_speed_up_torchrl():
            try:
                return probe(inputs)
            except Unsupported as error:
                raise Unprobed(str(error), is_known=False) from error

    return run_probe_quietly

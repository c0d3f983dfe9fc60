"""Drivers: whole scripts of CleanRL that measurements control."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs


def make_probe(driver: Callable[..., Any], measure: Callable[..., Any]) -> Callable[..., Any]:
    """Return the probe (source, inputs) of a measurement on ``driver(source, settings)``."""

    def measure_source(source: Source, inputs: Inputs) -> Any:
        return measure(partial(driver, source), inputs)

    return measure_source

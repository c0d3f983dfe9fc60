"""Drivers: whole scripts of CleanRL that measurements control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlregress.frameworks.cleanrl.script_sources import Source


def make_probe_maker(
    driver: Callable[..., Any],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a function that turns a measurement into a probe (source, inputs) of this driver."""

    def make_probe(measure: Callable[..., Any]) -> Callable[..., Any]:
        def measure_source(source: Source, inputs: Mapping[str, Any]) -> Any:
            return measure(lambda settings: driver(source, settings), inputs)

        return measure_source

    return make_probe

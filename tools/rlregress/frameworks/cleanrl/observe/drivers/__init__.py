"""Drivers: whole scripts of CleanRL that measurements control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlregress.frameworks.cleanrl.script_sources import Source


def measured_by(driver: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return measurement -> the probe of a copy of the scripts, for the tables of probes."""

    def measured(measure: Callable[..., Any]) -> Callable[..., Any]:
        def probe(source: Source, inputs: Mapping[str, Any]) -> Any:
            return measure(lambda settings: driver(source, settings), inputs)

        return probe

    return measured

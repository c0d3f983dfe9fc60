"""Settings of measurements, by the names that inputs and frameworks have for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: float64 arrays, floats, ints and strings, as the literals of the detail
Inputs = Mapping[str, Any]


def select_inputs(inputs: Inputs, *names: str) -> dict[str, Any]:
    """Return the inputs of these names that the detail has."""
    return {name: inputs[name] for name in names if name in inputs}


class NamedSettings:
    """Settings of an agent; None stands for the framework's default."""

    def map_to_framework_names(self, **names: str) -> dict[str, Any]:
        """Return the settings that are not default, by the framework's names."""
        settings = {theirs: getattr(self, name) for name, theirs in names.items()}
        return {theirs: number for theirs, number in settings.items() if number is not None}

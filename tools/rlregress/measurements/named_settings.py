"""Settings of measurements, by the names that a framework has for them."""

from __future__ import annotations

from typing import Any


class NamedSettings:
    """Settings of an agent; None stands for the framework's default."""

    def map_to_framework_names(self, **names: str) -> dict[str, Any]:
        """Return the settings that are not default, by the framework's names."""
        settings = {theirs: getattr(self, name) for name, theirs in names.items()}
        return {theirs: number for theirs, number in settings.items() if number is not None}

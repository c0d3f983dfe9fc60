"""References in float64 NumPy, which know no framework."""

from __future__ import annotations

"""The catalogue of implementation details, the expectations, and the judge."""

from __future__ import annotations

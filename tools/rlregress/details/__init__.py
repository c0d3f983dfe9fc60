"""The catalogue of implementation details, what is documented of them, and the judge."""

from __future__ import annotations

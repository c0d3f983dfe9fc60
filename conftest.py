"""Switches the suite on: its options, fixtures and ordering live in the library."""

from __future__ import annotations

pytest_plugins = ["rlregress.pytest_plugin"]

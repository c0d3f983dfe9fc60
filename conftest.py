"""Switches the suite on: its options, fixtures and ordering live in the library."""

from __future__ import annotations

import gc

pytest_plugins = ["rlregress.pytest_plugin"]

# Frameworks leave a million objects that stay; the default, every 700 new ones, costs 5 % of a run.
gc.set_threshold(50_000, 20, 100)

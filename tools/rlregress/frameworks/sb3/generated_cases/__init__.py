"""Calls of Stable-Baselines3's classes and functions that are generated from their signatures.

A scenario whose name begins with "calls-" makes all calls of one part of the library. The result of
each is an event of the trace: ``Class(option=value) input call``. Classes and options that a
version lacks are left out.
"""

from __future__ import annotations

from typing import Any

from rlregress.frameworks.sb3.generated_cases import (
    buffer_tables,
    layer_tables,
    number_tables,
    space_tables,
)
from rlregress.frameworks.sb3.library import find_in_library
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_variants import NameLookup, Tables
from rlregress.probing.signatures import list_parameters_with_inherited


def _require_argument(called: Any, name: str) -> str:
    if name not in list_parameters_with_inherited(called):
        raise Unsupported(f"{called.__name__} of this version has no argument '{name}'")
    return name


TABLES = Tables(
    NameLookup(find_in_library, _require_argument),
    (space_tables, number_tables, layer_tables, buffer_tables),
)

"""Calls of Stable-Baselines3's classes and functions that are generated from their signatures.

A scenario whose feature ``calls`` names a part makes all of its calls, and what each shows is an
event of the trace: ``Class(option=value) input call``. What a version lacks is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlregress.frameworks.sb3.generated_cases import (
    agent_calls,
    buffer_tables,
    layer_tables,
    number_tables,
    space_tables,
    wrapper_tables,
)
from rlregress.frameworks.sb3.library import library
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_variants import Names, Subject, cases, outputs_of
from rlregress.probing.signatures import parameters_of


def _keyword(called: Any, name: str) -> str:
    if name not in parameters_of(called):
        raise Unsupported(f"{called.__name__} of this version has no argument '{name}'")
    return name


NAMES = Names(library, _keyword)


def subjects() -> dict[str, list[Subject]]:
    """Part -> classes and functions."""
    tables = (space_tables, number_tables, layer_tables, buffer_tables, wrapper_tables, agent_calls)
    return {part: some for table in tables for part, some in table.subjects().items()}


def calls(part: str, seed: int) -> dict[str, Callable[[], Any]]:
    """Name -> call, of a part."""
    return {
        name: call for each in subjects()[part] for name, call in cases(each, seed, NAMES).items()
    }


def use(part: str, seed: int) -> dict[str, Any]:
    """What each call of a part shows; raises as ``outputs_of``."""
    return outputs_of(calls(part, seed), part)

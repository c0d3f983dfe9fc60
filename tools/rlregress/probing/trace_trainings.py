"""Parts of the entries of ``TRAININGS``: lazy values, and generated calls.

Runs inside foreign and old environments: Python 3.10 syntax.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any


class LazyValue(partial):
    """An argument made when the training starts, as a version may lack a class that it needs."""


def resolve_lazy_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of arguments, with each ``LazyValue`` replaced by its value."""
    return {
        # a library may write into what it is given, and entries share it
        name: item() if isinstance(item, LazyValue) else copy.deepcopy(item)
        for name, item in arguments.items()
    }


def is_title_of_generated_calls(title: str) -> bool:
    """Return whether a training's title names ``GeneratedCalls``."""
    return title.partition(" ")[2].startswith("calls-")


@dataclass(frozen=True)
class GeneratedCalls:
    """All generated calls of a part of a framework, which run in place of a training.

    The name of the scenario begins with "calls-".

    Attributes:
        module: has ``TABLES``, which generate the calls. It imports the framework; titles do not.
        part: classes or functions of the framework.
    """

    module: str
    part: str

    def __call__(self, make_env: Callable[..., Any], seed: int) -> Mapping[str, Any]:
        """Make all calls, and return their results by name."""
        del make_env
        return importlib.import_module(self.module).TABLES.run_calls_of_part(self.part, seed)

"""What users call of the library by themselves, without a training: what it answers and refuses.

A word of a scenario's ``helpers`` names one; its module shows what the library hands back. Small
inputs stand in the modules; what is asked of them is the library's own code. A function, class or
argument that a version lacks is Unsupported. Runs inside old environments: Python 3.9 syntax.

Each module of this folder has ``USED``: word -> function of (agent, environments, folder).
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Callable, Dict

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.framework_errors import ExpectedError
from rlregress.frameworks.sb3.scenario_request import by_library
from rlregress.frameworks.sb3.wrappers import Wrappers

Use = Callable[[Any, Wrappers, str], None]


def known() -> Dict[str, Use]:
    """All of them by word; the modules are imported when one is asked for."""
    by_word: Dict[str, Use] = {}
    for module in pkgutil.iter_modules(__path__):
        used = importlib.import_module(f"{__name__}.{module.name}").USED
        twice = sorted(set(used) & set(by_word))
        if twice:
            raise ValueError(f"two helpers of Stable-Baselines3 are called {twice[0]}")
        by_word.update(used)
    return by_word


def answer(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What the library's call returns, or the name of the error that it answers with."""
    try:
        return call(*arguments, **named)
    except Unsupported:
        raise
    except Exception as error:
        if not by_library(error):
            raise
        return ExpectedError(error)


def accepted(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Whether the library's call ends without an error, or the name of it."""
    result = answer(call, *arguments, **named)
    return result if isinstance(result, ExpectedError) else "accepted"

"""Parts of TorchRL used by themselves, as a user uses them in a loop of his own.

A scenario whose feature ``part`` names one runs it instead of a training. What a part returns is an
event of the trace, item by item: numbers, tensors, and trees of them. A part runs the library's own
code on small inputs that stand in it, and raises Unsupported where a version lacks what it is
about.

Each module of this folder has ``API_CASES``: name -> function of (make_env, seed).
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, Callable, Dict

import numpy as np
import torch

from rlregress.frameworks.framework_errors import ExpectedError

Part = Callable[[Callable[..., Any], int], Dict[str, Any]]


def known() -> Dict[str, Part]:
    """All parts by name; the modules are imported when one is asked for."""
    by_name: Dict[str, Part] = {}
    for module in pkgutil.iter_modules(__path__):
        parts = importlib.import_module(f"{__name__}.{module.name}").API_CASES
        twice = sorted(set(parts) & set(by_name))
        if twice:
            raise ValueError(f"two parts of TorchRL are called {twice[0]}")
        by_name.update(parts)
    return by_name


def use(name: str, make_env: Callable[..., Any], seed: int) -> Dict[str, Any]:
    """What a part returns, each item under the name of the part."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    return {f"{name}.{label}": output for label, output in known()[name](make_env, seed).items()}


def refused(call: Callable[[], Any]) -> Any:
    """What a call returns, or the name of the error that the library answers with."""
    try:
        return call()
    except Exception as error:
        return ExpectedError(error)

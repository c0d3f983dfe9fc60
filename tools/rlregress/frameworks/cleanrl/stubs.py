"""Stand-ins for the parts of a script that a probe chooses itself."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.cleanrl.script import Script

CPU = torch.device("cpu")


class Stub:
    """Stands in for an object of a script; its attributes are the keywords it was made with."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the script reads '{name}', which this probe does not set")


class StubNet:
    """Stands in for a network: calls a function, with a device or not, also by ``forward``.

    ``StubNet(lambda observations, actions: ...)``; devices are dropped from the arguments, arrays
    and lists become tensors. ``calls`` keeps the arguments; keywords become attributes.
    """

    def __init__(self, function: Callable[..., Any], **attributes: Any) -> None:
        self._function = function
        self.calls: list[tuple[Any, ...]] = []
        vars(self).update(attributes)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        fed = tuple(convert_to_tensor(a) for a in arguments if not isinstance(a, torch.device))
        self.calls.append(fed)
        return self._function(*fed, **keywords)

    forward = __call__


def convert_to_tensor(value: Any) -> Any:
    """Return arrays and lists of numbers as tensors of the default type, anything else as it is."""
    if isinstance(value, (np.ndarray, list)):
        return torch.as_tensor(np.asarray(value), dtype=torch.get_default_dtype())
    return value


def make_spaces_of_environments(low: Any, high: Any, observations: int = 1) -> Stub:
    """Return an object with the spaces of one environment and of vectorised ones.

    Args:
        low, high: action bounds, a number or one for each dimension.
        observations: dimensions of an observation.
    """
    lows, highs = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
    box = gymnasium.spaces.Box(lows.astype(np.float32), highs.astype(np.float32))
    observed = gymnasium.spaces.Box(-np.inf, np.inf, (observations,))
    return Stub(
        action_space=box,
        observation_space=observed,
        single_action_space=box,
        single_observation_space=observed,
        num_envs=1,
    )


def read_defaults_of_script(script: Script) -> dict[str, Any]:
    """Return the defaults of a script's command line, by name with underscores.

    They are parsed from the annotated class ``Args`` or from calls of ``add_argument``. Defaults
    that are computed from anything but literals, ``int`` and ``float`` are left out.
    """
    return dict(_parse_defaults_of_script(script))


@functools.lru_cache(maxsize=64)
def _parse_defaults_of_script(script: Script) -> dict[str, Any]:
    by_name: dict[str, Any] = {}
    tree = ast.Module(body=script.blocks[0].statements, type_ignores=[])
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Args":
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    _add_default(by_name, field.target.id, field.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            flag = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            values = {keyword.arg: keyword.value for keyword in node.keywords}
            _add_default(by_name, str(flag).lstrip("-").replace("-", "_"), values.get("default"))
    return by_name


def _add_default(defaults: dict[str, Any], name: str, expression: Any) -> None:
    try:
        code = compile(ast.Expression(expression), "<default>", "eval")
        defaults[name] = eval(code, {"__builtins__": {}, "int": int, "float": float})  # noqa: S307
    except Exception:  # computed from the file's name, or no default at all
        defaults.pop(name, None)


def make_arguments_of_script(script: Script, **flags: Any) -> Stub:
    """Return the variable ``args`` of a script: its defaults, with ``flags`` changed."""
    return Stub(**{**read_defaults_of_script(script), **flags})


@contextmanager
def use_float64_by_default() -> Iterator[None]:
    """Make float64 the default type, so that ``torch.Tensor`` of scripts does not round."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


#: ``with replaced(owner, name, value)``: the attribute, there or not, has another value meanwhile.
replaced = functools.partial(mock.patch.object, create=True)

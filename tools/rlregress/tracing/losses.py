"""What loss modules return: an event with its keys, types and shapes.

Runs inside foreign and old environments: standard library and torch only, Python 3.9 syntax.

A loss module is any module of the traced code whose call returns a mapping that holds a scalar
that requires a gradient. Of modules that call one another the outermost is recorded.
"""

from __future__ import annotations

import inspect
import itertools
import threading
import weakref
from typing import Any, Dict, Optional, Set

import torch

from rlregress.tracing.events import CALLERS, part, readable, types_of


class _Depth(threading.local):
    """How deep the current thread is in calls of modules."""

    calls = 0


class Losses:
    """Records what loss modules return."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        self._known: Set[Any] = set()
        self._depth = _Depth()
        self._numbers: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()
        self._count = itertools.count()

    def meet(self, kind: Any) -> None:
        """Record the calls of a class of modules, if it is of the traced code."""
        if kind in self._known:
            return
        self._known.add(kind)
        if issubclass(kind, torch.jit.ScriptModule) or self._forward(kind) is None:
            return
        original, losses = kind.__call__, self

        def called(module: Any, *given: Any, **options: Any) -> Any:
            if losses._depth.calls:
                return original(module, *given, **options)
            losses._depth.calls += 1
            try:
                returned = original(module, *given, **options)
            finally:
                losses._depth.calls -= 1
            if hasattr(returned, "keys"):
                losses._returned(module, returned)
            return returned

        self._recorder.replace(kind, "__call__", called)

    def _forward(self, kind: Any) -> Optional[Any]:
        """File, line and name of a class's forward; None if it is not of the traced code."""
        code: Any = getattr(inspect.unwrap(kind.forward), "__code__", None)
        file = None if code is None else self._recorder.places.name(code.co_filename)
        return None if file is None else [file, code.co_firstlineno, code.co_name]

    def _returned(self, module: Any, output: Any) -> None:
        values = _values(output)
        if self._recorder.over or not any(_is_loss(value) for value in values.values()):
            return
        if not readable(list(values.values())):
            return
        if module not in self._numbers:
            self._numbers[module] = next(self._count)
        name = f"{type(module).__name__} {self._numbers[module]}"
        caller = self._recorder.places.nearest(3)
        above = [] if caller is None else [caller[:3], *caller[3]]
        at = [*(self._forward(type(module)) or ["", 0, ""]), above[:CALLERS]]
        self._recorder.add("loss", name, {"keys": types_of(values), "values": part(values)}, at)


def _values(output: Any) -> Dict[str, Any]:
    """The tensors and numbers of a mapping, by key."""
    try:
        return {str(k): v for k, v in output.items() if torch.is_tensor(v) or _is_number(v)}
    except Exception:
        # a recorder's failure must not end a training
        return {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def _is_loss(value: Any) -> bool:
    return torch.is_tensor(value) and value.requires_grad and value.numel() == 1

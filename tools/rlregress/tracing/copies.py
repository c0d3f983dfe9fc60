"""Copies of the arguments of a call, so that the call can be repeated.

Runs inside foreign and old environments: standard library and torch only, Python 3.9 syntax.

What cannot be copied, such as a lock, an open file or a generator that has begun, is shared by all
copies; so are functions, classes and modules. A copied tensor is a leaf: the graph that it hangs on
stays behind.
"""

from __future__ import annotations

import io
import pickle
import types
from typing import Any, Dict, List, Tuple

import torch

#: these are shared.
_SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
_TENSORS = tuple(
    kind
    for kind in (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", None))
    if isinstance(kind, type)
)


class Copies:
    """Makes any number of copies of a value as it is now.

    Args:
        value: with a class whose own ``__getstate__`` leaves something out, its attributes are
            copied in place of that.

    Raises:
        Exception: whatever a class raises that takes part in being copied.
    """

    def __init__(self, value: Any) -> None:
        self._kept: List[Any] = []
        out = io.BytesIO()
        _Pickler(out, self._kept).dump(value)
        self._bytes = out.getvalue()

    def make(self) -> Any:
        """A new copy."""
        global _kept
        _kept = self._kept
        # of this very process
        return pickle.loads(self._bytes)  # noqa: S301


#: what the copies that are being made share, or are cloned from, by number.
_kept: List[Any] = []


def _shared(number: int) -> Any:
    return _kept[number]


def _tensor(number: int, kind: type, needs_gradient: bool, gradient: Any) -> torch.Tensor:
    made: torch.Tensor = _kept[number].clone()
    if kind is torch.nn.Parameter:
        made = torch.nn.Parameter(made, requires_grad=needs_gradient)
    else:
        made.requires_grad_(needs_gradient)
    made.grad = gradient
    return made


def _generator(device: torch.device, state: torch.Tensor) -> torch.Generator:
    made = torch.Generator(device)
    made.set_state(state)
    return made


def _restore(made: Any, state: Tuple[Dict[str, Any], Dict[str, Any]]) -> None:
    attributes, slots = state
    if attributes:
        vars(made).update(attributes)
    for name, value in slots.items():
        object.__setattr__(made, name, value)


_OWN: Tuple[Any, ...] = (_shared, _tensor, _generator, _restore)


class _Pickler(pickle.Pickler):
    def __init__(self, out: io.BytesIO, kept: List[Any]) -> None:
        super().__init__(out, pickle.HIGHEST_PROTOCOL)
        self._kept = kept

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, _SHARED):
            of_ours = isinstance(value, types.FunctionType) and value in _OWN
            return NotImplemented if of_ours else self._share(value)
        if type(value) in _TENSORS:
            self._kept.append(value.detach().clone())
            # of what is no leaf, torch warns that it has none
            gradient = value.grad if value.is_leaf else None
            number = len(self._kept) - 1
            return _tensor, (number, type(value), value.requires_grad, gradient)
        if isinstance(value, torch.Generator):
            return _generator, (value.device, value.get_state())
        kind: Any = type(value)
        if kind.__module__ == "weakref":
            return self._share(value)
        try:
            if kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__:
                return _plain(value)
            reduced = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        except Exception:  # each class has its own way to refuse
            return self._share(value)
        return NotImplemented if isinstance(reduced, str) else reduced

    def _share(self, value: Any) -> Any:
        self._kept.append(value)
        return _shared, (len(self._kept) - 1,)


def _plain(value: Any) -> Any:
    """How an object of Python's own kind is made again, with all of its attributes."""
    made = object.__reduce_ex__(value, pickle.HIGHEST_PROTOCOL)
    names = {name for kind in type(value).__mro__ for name in _slots(kind)}
    slots = {name: getattr(value, name) for name in sorted(names) if hasattr(value, name)}
    state = (getattr(value, "__dict__", {}), slots)
    return (*made[:2], state, *(*made[3:], None, None)[:2], _restore)


def _slots(kind: type) -> List[str]:
    own = kind.__dict__.get("__slots__", ())
    names = [own] if isinstance(own, str) else list(own)
    return [
        f"_{kind.__name__.lstrip('_')}{n}" if n.startswith("__") and not n.endswith("__") else n
        for n in names
        if n not in ("__dict__", "__weakref__")
    ]

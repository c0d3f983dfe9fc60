"""Copies of the arguments of a call, so that the call can be repeated.

What cannot be copied, such as a lock, an open file or a generator that has begun, is shared by all
copies; so are classes, modules, and functions that hold nothing. Arrays and tensors that lie in the
same memory do so in a copy. A copied tensor is a leaf: its autograd graph is not copied.
"""

from __future__ import annotations

import functools
import io
import pickle
import types
import weakref
from typing import Any

import numpy as np
import torch

from rlregress.inside import pickled

#: types whose objects a copy shares with the original.
_SHARED = (type, types.ModuleType, types.BuiltinFunctionType)
_HOLDING_NOTHING = (*_SHARED, types.FunctionType, bool, int, float, str, bytes, type(None))
#: modules of types whose values may lie in memory that other processes use, too.
_ELSEWHERE = ("multiprocessing.sharedctypes", "ctypes", "_ctypes")


class NoCopy(Exception):
    """A value can be neither copied nor shared; the message names it."""


class Copies:
    """Makes any number of copies of a value as it is now.

    Args:
        value: its attributes are copied, even if its class leaves some out of ``__getstate__``.

    Attributes:
        has_shared_memory: whether arrays or tensors of it lie in the same memory.

    Raises:
        NoCopy: a part of it lies in memory that other processes use.
        Exception: an error of a class that is copied.
    """

    def __init__(self, value: Any) -> None:
        self._originals: list[Any] = []
        out = io.BytesIO()
        pickler = _Pickler(out, self._originals)
        pickler.dump(value)
        self.has_shared_memory = pickler.has_shared_memory
        self._bytes = out.getvalue()

    def make_copy(self) -> Any:
        """Return a new copy of the value as it was."""
        global _originals
        _originals = self._originals
        # pickled by this process
        return pickle.loads(self._bytes)  # noqa: S301


#: values that the current copy shares, or clones, by number.
_originals: list[Any] = []


def _get_original(number: int) -> Any:
    return _originals[number]


def _copy_tensor(number: int, kind: type, needs_gradient: bool) -> torch.Tensor:
    copied = _originals[number].clone()
    if kind is torch.nn.Parameter:
        return torch.nn.Parameter(copied, requires_grad=needs_gradient)
    return copied.requires_grad_(needs_gradient)


def _copy_function(number: int) -> Any:
    """Copy a function; ``_fill_cells`` fills its cells, as one may hold the function itself."""
    original = _originals[number]
    cells = tuple(types.CellType() for _ in original.__closure__)
    copied = types.FunctionType(
        original.__code__, original.__globals__, original.__name__, original.__defaults__, cells
    )
    copied.__kwdefaults__ = original.__kwdefaults__
    copied.__qualname__ = original.__qualname__
    return copied


def _fill_cells(function: Any, contents: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    for cell, content in zip(function.__closure__, contents[0], strict=False):
        if content:
            cell.cell_contents = content[0]
    vars(function).update(contents[1])


def _restore_object_state(
    copied: Any, state: tuple[dict[str, Any], dict[str, Any], list[Any], Any]
) -> None:
    attributes, slots, items, pairs = state
    if attributes:
        vars(copied).update(attributes)
    for name, value in slots.items():
        object.__setattr__(copied, name, value)
    # not by methods of its own class, which might do more, such as count the items
    if items:
        list.extend(copied, items)
    if pairs:
        dict.update(copied, pairs)


#: modules whose functions unpickle: they are pickled by their names.
_UNPICKLING = (__name__, pickled.__name__)


class _Pickler(pickle.Pickler):
    def __init__(self, out: io.BytesIO, originals: list[Any]) -> None:
        super().__init__(out, pickle.HIGHEST_PROTOCOL)
        self._originals = originals
        self._tensors = pickled.Tensors()
        self._has_views = False

    @property
    def has_shared_memory(self) -> bool:
        return self._has_views or self._tensors.has_shared_memory

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            is_own = value.__module__ in _UNPICKLING
            return NotImplemented if is_own else self._reduce_function(value)
        if value is pickled.Storage or type(value) is pickled.Storage:
            return NotImplemented
        if isinstance(value, _SHARED):
            return self._share_original(value)
        if type(value) in (torch.Tensor, torch.nn.Parameter):
            return self._reduce_tensor(value)
        if type(value) is np.ndarray and isinstance(value.base, np.ndarray):
            return self._reduce_view(value)
        if isinstance(value, torch.Generator):
            state = value.get_state()
            return torch.Generator, (value.device,), state, None, None, torch.Generator.set_state
        kind: Any = type(value)
        if kind is weakref.ReferenceType and value() is not None:
            return weakref.ref, (value(),)
        if kind.__module__ == "weakref":
            return self._share_original(value)
        if kind.__module__.startswith(_ELSEWHERE):
            raise NoCopy(f"an argument is {kind.__module__}.{kind.__qualname__}, which has no copy")
        try:
            if has_only_attributes_and_items(kind):
                return _reduce_to_attributes(value)
            reduced = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        except Exception:  # classes refuse with errors of many types
            return self._share_original(value)
        # it would be found by this name again, or by none
        return self._share_original(value) if isinstance(reduced, str) else reduced

    def _share_original(self, value: Any) -> Any:
        return _get_original, (self._keep_original(value),)

    def _keep_original(self, value: Any) -> int:
        self._originals.append(value)
        return len(self._originals) - 1

    def _reduce_function(self, function: Any) -> Any:
        contents = [_read_cell_content(cell) for cell in function.__closure__ or ()]
        if all(isinstance(value, _HOLDING_NOTHING) for content in contents for value in content):
            return self._share_original(function)
        state = (tuple(contents), dict(vars(function)))
        return _copy_function, (self._keep_original(function),), state, None, None, _fill_cells

    def _reduce_tensor(self, value: torch.Tensor) -> Any:
        if pickled.is_plain_tensor(value):
            return self._tensors.reduce_tensor(value, value.requires_grad)
        # torch warns that a tensor that is no leaf has none
        gradient = value.grad if value.is_leaf else None
        arguments = (self._keep_original(value.detach().clone()), type(value), value.requires_grad)
        state = (gradient, vars(value))
        return _copy_tensor, arguments, state, None, None, pickled.restore_tensor_attributes

    def _reduce_view(self, value: np.ndarray) -> Any:
        base: Any = value.base
        offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        if base.dtype == object or value.dtype == object or not base.flags.forc:
            return value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        self._has_views = True
        return np.ndarray, (value.shape, value.dtype, base, offset, value.strides)


def _read_cell_content(cell: Any) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # it is empty
        return ()


@functools.cache
def has_only_attributes_and_items(kind: Any) -> bool:
    """Return whether objects of a class hold only attributes and items, and no state in C."""
    if kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not object.__reduce__:
        return False
    methods = [base.__dict__.get("__getstate__") for base in kind.__mro__ if base is not object]
    return all(method is None or isinstance(method, types.FunctionType) for method in methods)


def _reduce_to_attributes(value: Any) -> Any:
    """Return the pickle reduction of an object: its class, all attributes, slots and items."""
    reduced = object.__reduce_ex__(value, pickle.HIGHEST_PROTOCOL)
    items, pairs = (*reduced[3:], None, None)[:2]
    names = {name for kind in type(value).__mro__ for name in list_slots(kind)}
    values = {name: getattr(value, name) for name in sorted(names) if hasattr(value, name)}
    state = (
        getattr(value, "__dict__", {}), values, list(items or ()), dict(pairs) if pairs else None
    )  # fmt: skip
    return (*reduced[:2], state, None, None, _restore_object_state)


@functools.cache
def list_slots(kind: type) -> list[str]:
    """Return the names of the slots that a class adds, with private names mangled."""
    own = kind.__dict__.get("__slots__", ())
    names = [own] if isinstance(own, str) else list(own)
    return [
        f"_{kind.__name__.lstrip('_')}{n}" if n.startswith("__") and not n.endswith("__") else n
        for n in names
        if n not in ("__dict__", "__weakref__")
    ]

"""Describes the leaves of an object, down to its numbers, and changes them in place.

A path names a leaf as one would write it: ``self.policy.weight``, ``batch['rewards']``.
"""

from __future__ import annotations

import _thread
import collections
import copyreg
import enum
import functools
import io
import pickle
import random
import re
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import numpy as np
import torch

from rlregress.inside.copies import has_only_attributes_and_items, list_slots
from rlregress.inside.events import convert_to_array, describe_type

#: the most leaves of a value; one with more is not compared.
MOST = 50_000
#: each number of a sequence up to this length is a leaf; a longer sequence is a single leaf.
_ITEMS = 500
_DEEP = 40
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NUMBERS = (bool, int, float, complex, np.generic)
_KEYS = (str, bytes, bool, int, float, type(None), tuple, enum.Enum, np.generic)
_BOUND = (types.BuiltinFunctionType, types.MethodWrapperType)
_OWNERS = (type, types.ModuleType, type(None))
_CALLED = (types.FunctionType, types.MethodType, functools.partial)
#: types that hold code: numbers in them are never perturbed.
CODE = (type, types.ModuleType, types.CodeType, *_BOUND, *_CALLED)
_LOCKS = (_thread.LockType, _thread.RLock)
#: attributes that Python itself adds to a class.
_OF_CLASS = frozenset(
    ["__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "_abc_impl"]
)
_FRAMES = (types.FrameType, types.TracebackType)
_SEQUENCES = (list, tuple, collections.deque)
_REGISTERED = ("_parameters", "_buffers", "_modules")


class TooManyLeaves(Exception):
    """A value has more leaves than are compared."""


class Unreadable(NamedTuple):
    """A value with unreadable content, such as a generator: only its identity is known."""

    value: Any

    def __repr__(self) -> str:
        """Return the value's kind, without its address, which differs in every process."""
        return type(self.value).__qualname__


def is_array(value: Any) -> bool:
    """Return whether a value is an array or a tensor."""
    return isinstance(value, (np.ndarray, torch.Tensor))


def has_numbers(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has numbers in memory, and not only a shape."""
    return tensor.device.type != "meta" and not torch.nn.parameter.is_lazy(tensor)


def describe_leaf(value: Any) -> tuple[str, Any] | None:
    """Return kind and content of a value without parts; None: it has parts."""
    if is_array(value) or isinstance(value, np.generic):
        return _describe_array(value)
    if isinstance(value, enum.Enum):
        return (
            "enum",
            f"{type(value).__qualname__}.{value.name} {_join_leaves_to_text(value.value)}",
        )
    if isinstance(value, _NUMBERS):
        array = np.asarray(value)
        # no array holds an integer of so many digits
        return type(value).__name__, repr(value) if array.dtype == object else array
    if isinstance(value, (str, bytes, type(None))):
        return type(value).__name__, _ADDRESS.sub("", repr(value))
    if isinstance(value, _FRAMES):
        # its place depends on how a function is written
        return "frame", ""
    if isinstance(value, Unreadable):
        return "unreadable", value
    if isinstance(value, types.CodeType):
        return "code", _describe_code(value)
    if isinstance(value, types.ModuleType):
        return "code", value.__name__
    if isinstance(value, type) and _is_importable_by_name(value):
        return "code", f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, _BOUND) and isinstance(value.__self__, _OWNERS):
        return "code", value.__qualname__
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, repr(sorted(map(_join_leaves_to_text, value)))
    if isinstance(value, (io.StringIO, io.BytesIO)) and not value.closed:
        return "stream", repr(value.getvalue())
    if isinstance(value, np.random.Generator):
        return "generator", repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state()
        return "generator", state[1].tobytes() + repr(state[2:]).encode()
    if isinstance(value, torch.Generator):
        return "generator", convert_to_array(value.get_state())
    if isinstance(value, random.Random):
        return "generator", hash(value.getstate())
    return None


def _describe_array(value: Any) -> tuple[str, Any] | None:
    if not isinstance(value, torch.Tensor) and value.dtype == object:
        return None
    kind = str(value.dtype) if isinstance(value, np.generic) else describe_type(value)
    kind += " read-only" if isinstance(value, np.ndarray) and not value.flags.writeable else ""
    if isinstance(value, torch.Tensor):
        kind += " with gradient" if value.requires_grad else ""
        return kind, convert_to_array(value) if has_numbers(
            value
        ) else f"without numbers, {value.device}"
    if value.dtype.kind in "VMm":
        # dates and records, by their bytes: equal ones need not compare as equal
        return kind, np.asarray(value).tobytes()
    return kind, convert_to_array(value)


def _join_leaves_to_text(value: Any) -> str:
    """Return all leaves of a value as text, each number with all of its digits."""
    return _ADDRESS.sub("", repr([
        (path, kind, content.tolist() if isinstance(content, np.ndarray) else content)
        for path, (kind, content) in list_leaves(value, "").items()
    ]))  # fmt: skip


def _is_importable_by_name(value: Any) -> bool:
    """Return whether a function or class can be imported from its module by its name."""
    holder: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        holder = getattr(holder, name, None)
    return holder is value


def is_tensor_batch(value: Any) -> bool:
    """Return whether a value is a mapping of tensors with a common batch size, of any library."""
    kind = type(value)
    return hasattr(kind, "batch_size") and hasattr(kind, "keys") and not isinstance(value, dict)


def _list_stacked_batches(value: Any) -> list[Any]:
    """Return the batches in a lazily stacked batch; empty if it holds its tensors itself."""
    return list(value.unbind(value.stack_dim)) if hasattr(value, "stack_dim") else []


def list_labelled_parts(value: Any) -> list[tuple[str, Any]]:
    """Return the parts of a value, each with its label: ".name", "[key]" or "[number]"."""
    if is_tensor_batch(value):
        stacked = _list_stacked_batches(value)
        if stacked:
            return [(f"[{number}]", value_) for number, value_ in enumerate(stacked)]
        items = [(f"[{key!r}]", value.get(key)) for key in sorted(value.keys(), key=str)]
        return [(".batch_size", tuple(value.batch_size)), *items]
    parts: list[tuple[str, Any]] = []
    if isinstance(value, (dict, types.MappingProxyType)):
        for number, (key, item) in enumerate(value.items()):
            parts.append((f"[{_format_key(key) or f'key {number}'}]", item))
        parts += [(f".key {n}", key) for n, key in enumerate(value) if not _format_key(key)]
    elif isinstance(value, _SEQUENCES):
        parts += _label_by_number(value)
    elif isinstance(value, np.ndarray):
        parts += [*_label_by_number(value.reshape(-1)), (".shape", value.shape)]
    elif isinstance(value, (type({}.keys()), type({}.values()), type({}.items()))):
        parts += _label_by_number(value)
    elif isinstance(value, functools.partial):
        return [(".func", value.func), (".args", value.args), (".keywords", value.keywords)]
    elif isinstance(value, types.MethodType):
        return [(".__func__", value.__func__), (".__self__", value.__self__)]
    elif isinstance(value, _BOUND):
        return [(".__name__", value.__name__), (".__self__", value.__self__)]
    elif isinstance(value, weakref.ReferenceType):
        return [(".referent", value())]
    elif isinstance(value, types.FunctionType):
        return [
            (".__name__", value.__qualname__),
            *_describe_nameless_code(value),
            *_list_variables_of_closure(value),
        ]
    elif isinstance(value, type):
        own = {name: part for name, part in vars(value).items() if name not in _OF_CLASS}
        return [(".__bases__", value.__bases__), *_label_by_name(own)]
    elif not hasattr(value, "__dict__") and not list_own_attributes(value):
        return [(".state", _read_pickled_state(value))]
    # also for an instance of a subclass of the types above
    registered = _list_registered_parts_of_module(value)
    own = {n: part for n, part in list_own_attributes(value).items() if n not in registered}
    # a module calls its parts, and saves them, in the order in which they are registered
    parts += [*_label_by_name(own), *((f".{name}", part) for name, part in registered.items())]
    kind: Any = type(value)
    if not has_only_attributes_and_items(kind) and kind is not collections.OrderedDict:
        # values that only its constructor takes: an error's arguments, the length of a queue
        state = _read_pickled_state(value)
        parts += [(".state", state[0])] if isinstance(state, tuple) and state[0] else []
    return parts


def _label_by_name(parts: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(f".{name}", part) for name, part in sorted(parts.items())]


def _format_key(key: Any) -> str:
    """Return a dictionary key as text; empty: the key is an array, or has parts."""
    if isinstance(key, _KEYS):
        return repr(key)
    content = None if is_array(key) else describe_leaf(key)
    return f"{content[0]} {content[1]}" if content is not None else ""


def _label_by_number(items: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(f"[{number}]", item) for number, item in enumerate(items)]


def _join_numbers_to_array(value: Any) -> np.ndarray | None:
    """Return a long sequence of numbers as one array; None: it is no such sequence."""
    if not isinstance(value, _SEQUENCES) or len(value) <= _ITEMS:
        return None
    kinds = {type(item) for item in value}
    numbers = np.asarray(value) if kinds in ({bool}, {int}, {float}) else None
    # not for large integers, which an array would convert to inexact numbers
    return None if numbers is None or (kinds == {int} and numbers.dtype.kind != "i") else numbers


def _list_variables_of_closure(function: Any) -> list[tuple[str, Any]]:
    """Return a function's closure variables, defaults and attributes."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    variables = []
    for name, cell in cells:
        try:
            variables.append((f".{name}", cell.cell_contents))
        except ValueError:  # it is empty
            continue
    own = (function.__defaults__, function.__kwdefaults__)
    return [*variables, (".__defaults__", own), *_label_by_name(vars(function))]


def _describe_nameless_code(function: types.FunctionType) -> list[tuple[str, str]]:
    """Describe the code of a nameless function; named ones are compared separately."""
    if _is_importable_by_name(function):
        return []
    return [(".__code__", _describe_code(function.__code__, function.__doc__))]


def _describe_code(code: types.CodeType, docstring: str | None = "") -> str:
    """Describe code without its line numbers and docstring."""
    constants = code.co_consts[code.co_consts[:1] == (docstring,) :]
    described_constants = [
        _describe_code(item) if isinstance(item, types.CodeType) else repr(item)
        for item in constants
        # marks, see ``marks``: no source can write such a constant
        if not isinstance(item, bytearray)
    ]
    return f"{code.co_code.hex()} {code.co_names} {described_constants}"


def _read_pickled_state(value: Any) -> Any:
    """Return the state that pickling gives for an object written in C, such as an iterator."""
    try:
        with warnings.catch_warnings():
            # pickling iterators of itertools is deprecated, and ends with Python 3.14
            warnings.simplefilter("ignore", DeprecationWarning)
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = reduce(value) if reduce else value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    except Exception:  # classes refuse with errors of many types
        # a lock says whether it is held
        return repr(value) if isinstance(value, _LOCKS) else Unreadable(value)
    return reduced if isinstance(reduced, str) else reduced[1:]


def _list_registered_parts_of_module(value: Any) -> dict[str, Any]:
    """Return the buffers, parameters and modules of a module, by name."""
    if not isinstance(value, torch.nn.Module):
        return {}
    return {name: part for registry in _REGISTERED
            for name, part in (vars(value).get(registry) or {}).items()}  # fmt: skip


def list_own_attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object itself, not those of its class.

    Parameters, buffers and modules that are registered with a module are among them.
    """
    own = {**getattr(value, "__dict__", {}), **_list_registered_parts_of_module(value)}
    for registry in _REGISTERED if isinstance(value, torch.nn.Module) else ():
        own.pop(registry, None)
    for kind in type(value).__mro__:
        own.update(
            {name: getattr(value, name) for name in list_slots(kind) if hasattr(value, name)}
        )
    return own


class LeavesByPath(dict[str, Any]):
    """Path -> kind and content, for every leaf (value without parts) inside a value.

    The type of an object with parts, and the length of a sequence, are leaves as well.

    Attributes:
        attributes: paths of attributes that the class of their object does not have.
    """

    def __init__(self) -> None:
        super().__init__()
        self.attributes: set[str] = set()

    def add_leaves(self, leaves: LeavesByPath) -> None:
        self.update(leaves)
        self.attributes |= leaves.attributes


def list_leaves(
    value: Any,
    name: str,
    names_by_identity: dict[int, str] | None = None,
    find_unread_keys: Callable[[dict[Any, Any], str], Collection[str]] | None = None,
) -> LeavesByPath:
    """Return all leaves (values without parts) inside a value, by path: kind and content of each.

    Args:
        names_by_identity: for values that are described elsewhere and not repeated here.
        find_unread_keys: takes a dictionary and its path, returns keys to leave out.

    Raises:
        TooManyLeaves: the value has more leaves than are compared.
    """
    leaves = LeavesByPath()
    visited: dict[int, str] = {}
    # objects that are made on the way, whose identity must not be used again
    alive: list[Any] = []

    def add_leaves_of(value_: Any, path: str, depth: int) -> None:
        if names_by_identity is not None and id(value_) in names_by_identity:
            leaves[path] = "the same as", names_by_identity[id(value_)]
            return
        content = describe_leaf(value_)
        if content is not None:
            leaves[path] = content
            if isinstance(value_, torch.Tensor) and value_.is_leaf and value_.grad is not None:
                add_leaves_of(value_.grad, f"{path}.grad", depth + 1)
            return
        if len(leaves) >= MOST:
            raise TooManyLeaves(f"{name} has more than {MOST} parts")
        if depth > _DEEP:
            raise TooManyLeaves(f"{name} has more than {_DEEP} levels")
        if id(value_) in visited:
            leaves[path] = "the same as", visited[id(value_)]
            return
        if type(value_) is not tuple:
            # equal tuples may be one or many
            visited[id(value_)] = path
        alive.append(value_)
        parts, numbers = list_labelled_parts(value_), _join_numbers_to_array(value_)
        if numbers is not None:
            parts = [("[:]", numbers), *parts[len(value_) :]]
        if find_unread_keys is not None and isinstance(value_, dict):
            left_out = {f"[{key!r}]" for key in find_unread_keys(value_, path)}
            parts = [(label, part) for label, part in parts if label not in left_out]
        leaves[path] = "object", _name_type(value_)
        registered = _list_registered_parts_of_module(value_)
        for label, part in parts:
            # a registered part is saved with a module, even if nobody reads it
            own = label.startswith(".") and label[1:] not in registered
            if own and not hasattr(type(value_), label[1:]):
                leaves.attributes.add(path + label)
            add_leaves_of(part, path + label, depth + 1)

    add_leaves_of(value, name, 0)
    return leaves


def _name_type(value: Any) -> str:
    kind = type(value).__qualname__
    return f"{kind} of {len(value)}" if isinstance(value, _SEQUENCES) else kind


#: number, array or tensor -> its replacement; None: it stays.
Change = Callable[[Any], Any]


def change_numbers_in_place(value: Any, change: Change, memo: dict[int, Any] | None = None) -> Any:
    """Return the value with all numbers, arrays and tensors changed; objects in place.

    Args:
        memo: identity -> new value, for values that were changed already.
    """
    memo = {} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, torch.Tensor):
        replacement = change(value.detach()) if has_numbers(value) else None
        memo[id(value)] = value
        if (
            replacement is not None
            and replacement.dtype == value.dtype
            and replacement.shape == value.shape
        ):
            # in place, as other tensors may share its memory
            value.detach().copy_(replacement)
        elif replacement is not None:
            value.data = replacement
        return value
    if isinstance(value, (np.ndarray, np.generic, bool, int, float)):
        replacement = change(value)
        result = value if replacement is None else replacement
        if isinstance(value, np.ndarray):
            if (
                replacement is not None
                and replacement.dtype == value.dtype
                and value.flags.writeable
            ):
                value[...] = replacement
                result = value
            memo[id(value)] = result
        return result
    if isinstance(value, CODE) or describe_leaf(value) is not None or len(memo) > MOST:
        return value
    memo[id(value)] = value
    if type(value) is tuple:
        return tuple(change_numbers_in_place(item, change, memo) for item in value)
    if isinstance(value, tuple):
        items = [change_numbers_in_place(item, change, memo) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else value
    if is_tensor_batch(value):
        for part in _list_stacked_batches(value) or [value.get(key) for key in list(value.keys())]:
            change_numbers_in_place(part, change, memo)
        return value
    if isinstance(value, dict):
        for key, item in list(value.items()):
            value[key] = change_numbers_in_place(item, change, memo)
    elif isinstance(value, (list, collections.deque)):
        for number, item in enumerate(list(value)):
            value[number] = change_numbers_in_place(item, change, memo)
    for name, item in list_own_attributes(value).items():
        new_item = change_numbers_in_place(item, change, memo)
        if new_item is not item:
            _set_attribute(value, name, new_item)
    return value


def _set_attribute(value: Any, name: str, part: Any) -> None:
    """Set an attribute of an object itself, bypassing ``__setattr__`` of its class."""
    own = getattr(value, "__dict__", {})
    if name in own:
        own[name] = part
    else:
        object.__setattr__(value, name, part)


def replace_part(value: Any, label: str, part: Any) -> Any:
    """Set the part under a label, in place except in a tuple; return the value or the new tuple."""
    if label.startswith("."):
        _set_attribute(value, label[1:], part)
        return value
    if isinstance(value, tuple):
        items = [part if f"[{n}]" == label else item for n, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, (list, collections.deque)):
        value[int(label[1:-1])] = part
        return value
    keys = {name: key for (name, _), key in zip(list_labelled_parts(value), value, strict=False)}
    value[keys.get(label, label)] = part
    return value


def move_by_one_ulp(value: Any, draw: np.random.Generator) -> Any:
    """Return floats moved by one unit in the last place, but for 0 and 1; None: no floats."""
    if isinstance(value, torch.Tensor):
        if value.dtype not in (torch.float32, torch.float64) or not value.numel():
            return None
        array = value.detach().numpy()
    elif isinstance(value, (float, np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind != "f":
            return None
    else:
        return None
    up = draw.random(array.shape) < 0.5
    # with a dtype: NumPy 1 would convert a single number to double precision
    row, infinite = np.atleast_1d(array), array.dtype.type(np.inf)
    ways = [np.nextafter(row, end, dtype=array.dtype) for end in (infinite, -infinite)]
    perturbed = np.where(up, *(way.reshape(array.shape) for way in ways))
    # 0 and 1 stay: they are the result of no rounding
    perturbed = np.where((array == 0) | (array == 1), array, perturbed).astype(array.dtype)
    if isinstance(value, torch.Tensor):
        return torch.from_numpy(np.array(perturbed)).reshape(value.shape)
    return float(perturbed) if isinstance(value, float) else perturbed[()]

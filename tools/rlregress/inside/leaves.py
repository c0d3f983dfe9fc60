"""What an object consists of, down to its numbers: described, and changed in place.

A path names a leaf as one would write it: ``self.policy.weight``, ``batch['rewards']``.
"""

from __future__ import annotations

import collections
import enum
import functools
import io
import random
import re
import types
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import torch

from rlregress.inside.copies import slots
from rlregress.inside.events import as_array, type_of

#: leaves of one value that are compared; what has more is not compared at all.
MOST = 50_000
#: items of a sequence of numbers that are leaves of their own; more of them are one leaf.
_ITEMS = 500
_DEEP = 40
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NUMBERS = (bool, int, float, complex, np.generic)
_KEYS = (str, bytes, bool, int, float, type(None), tuple, enum.Enum)
_CODE = (type, types.ModuleType, types.BuiltinFunctionType, types.MethodWrapperType, types.CodeType)
_FRAMES = (types.FrameType, types.TracebackType)
_SEQUENCES = (list, tuple, collections.deque)
_REGISTERED = ("_parameters", "_buffers", "_modules")


class TooMany(Exception):
    """A value has more leaves than are compared."""


def is_array(value: Any) -> bool:
    """Whether it is an array or a tensor."""
    return isinstance(value, (np.ndarray, torch.Tensor))


def has_numbers(tensor: torch.Tensor) -> bool:
    """Whether a tensor is more than a shape: it lies in memory, and is made already."""
    return tensor.device.type != "meta" and not torch.nn.parameter.is_lazy(tensor)


def leaf(value: Any) -> Any:
    """What is compared of a value without parts: kind, and numbers or words; None: it has parts."""
    if is_array(value) or isinstance(value, np.generic):
        return _of_array(value)
    if isinstance(value, enum.Enum):
        return "enum", str(value)
    if isinstance(value, _NUMBERS):
        return type(value).__name__, np.asarray(value)
    if isinstance(value, (str, bytes, type(None))):
        return type(value).__name__, _ADDRESS.sub("", repr(value))
    if isinstance(value, _FRAMES):
        # where it stands is how a function is written
        return "frame", ""
    if isinstance(value, _CODE):
        return "code", getattr(value, "__qualname__", type(value).__name__)
    if isinstance(value, (set, frozenset)):
        return "set", repr(sorted(repr(_described_apart(item)) for item in value))
    if isinstance(value, (io.StringIO, io.BytesIO)) and not value.closed:
        return "stream", repr(value.getvalue())
    if isinstance(value, np.random.Generator):
        return "generator", repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return "generator", random_state(value.get_state())
    if isinstance(value, torch.Generator):
        return "generator", as_array(value.get_state())
    if isinstance(value, random.Random):
        return "generator", hash(value.getstate())
    return None


def random_state(state: Any) -> bytes:
    """All of the state of one of NumPy's older generators."""
    return bytes(state[1].tobytes()) + repr(state[2:]).encode()


def _of_array(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) and value.dtype == object:
        return None
    kind = str(value.dtype) if isinstance(value, np.generic) else type_of(value)
    if isinstance(value, torch.Tensor):
        kind += " with gradient" if value.requires_grad else ""
        return kind, as_array(value) if has_numbers(value) else f"without numbers, {value.device}"
    if value.dtype.kind in "VMm":
        # what is no number, and is not always equal to itself
        return kind, np.asarray(value).tobytes()
    return kind, as_array(value)


def _described_apart(value: Any) -> Any:
    return _ADDRESS.sub("", repr(sorted(described(value, "").items(), key=str)))


def is_batch(value: Any) -> bool:
    """Whether it is a mapping of tensors that have a batch size in common, of whatever library."""
    kind = type(value)
    return hasattr(kind, "batch_size") and hasattr(kind, "keys") and not isinstance(value, dict)


def _stacked(value: Any) -> list[Any]:
    """The batches that one is a stack of, where it does not hold its tensors itself."""
    return list(value.unbind(value.stack_dim)) if hasattr(value, "stack_dim") else []


def children(value: Any) -> list[tuple[str, Any]]:
    """The parts of a value that has some, each with what follows the value's name."""
    if is_batch(value):
        stacked = _stacked(value)
        if stacked:
            return [(f"[{number}]", value_) for number, value_ in enumerate(stacked)]
        items = [(f"[{key!r}]", value.get(key)) for key in sorted(value.keys(), key=str)]
        return [(".batch_size", tuple(value.batch_size)), *items]
    found: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        for number, (key, item) in enumerate(value.items()):
            name = repr(key) if isinstance(key, _KEYS) else f"key {number}"
            found.append((f"[{name}]", item))
    elif isinstance(value, _SEQUENCES):
        found += _numbered(value)
    elif isinstance(value, np.ndarray):
        found += _numbered(value.reshape(-1))
    elif isinstance(value, (type({}.keys()), type({}.values()), type({}.items()))):
        found += _numbered(value)
    elif isinstance(value, functools.partial):
        return [(".func", value.func), (".args", value.args), (".keywords", value.keywords)]
    elif isinstance(value, types.MethodType):
        return [(".__func__", value.__func__), (".__self__", value.__self__)]
    elif isinstance(value, types.FunctionType):
        return [(".__name__", value.__qualname__), *_held(value)]
    # also of a subclass of one of those
    found += [(f".{name}", item) for name, item in sorted(attributes(value).items())]
    return found


def _numbered(items: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(f"[{number}]", item) for number, item in enumerate(items)]


def _numbers(value: Any) -> Any:
    """All numbers of a long sequence of nothing else, as one array; None: it is none."""
    if not isinstance(value, _SEQUENCES) or len(value) <= _ITEMS:
        return None
    kinds = {type(item) for item in value}
    return np.asarray(value) if kinds in ({bool}, {int}, {float}) else None


def _held(function: Any) -> list[tuple[str, Any]]:
    """What a function holds: the variables around it, and its defaults."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    held = []
    for name, cell in cells:
        try:
            held.append((f".{name}", cell.cell_contents))
        except ValueError:  # it is empty
            continue
    return [*held, (".__defaults__", function.__defaults__)]


def _registered(value: Any) -> dict[str, Any]:
    """The buffers, parameters and modules of a module, by the name that its code reads."""
    if not isinstance(value, torch.nn.Module):
        return {}
    return {name: part for held in _REGISTERED
            for name, part in (vars(value).get(held) or {}).items()}  # fmt: skip


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object itself, not those of its class.

    What is registered with a module is an attribute of it, as its code reads it.
    """
    own = {**getattr(value, "__dict__", {}), **_registered(value)}
    for held in _REGISTERED if isinstance(value, torch.nn.Module) else ():
        own.pop(held, None)
    for kind in type(value).__mro__:
        own.update({name: getattr(value, name) for name in slots(kind) if hasattr(value, name)})
    return own


class Described(dict[str, Any]):
    """Path -> leaf of everything that a value consists of.

    The kind of what has parts, and how many there are in a sequence, are leaves as well.

    Attributes:
        attributes: paths of what an object has as an attribute that its class does not have.
    """

    def __init__(self) -> None:
        super().__init__()
        self.attributes: set[str] = set()

    def add(self, other: Described) -> None:
        """Take in what another value consists of."""
        self.update(other)
        self.attributes |= other.attributes


def described(
    value: Any,
    name: str,
    others: dict[int, str] | None = None,
    unread: Callable[[dict[Any, Any], str], Collection[str]] | None = None,
) -> Described:
    """What a value consists of.

    Args:
        others: by identity, names of what is described elsewhere, and not here again.
        unread: returns the keys of a dictionary with a path that are left out.

    Raises:
        TooMany: more than is compared.
    """
    found = Described()
    known: set[int] = set()
    # of what is made on the way, whose identity must not come again
    kept: list[Any] = []

    def visit(thing: Any, path: str, depth: int) -> None:
        if others is not None and id(thing) in others:
            found[path] = "the same as", others[id(thing)]
            return
        content = leaf(thing)
        if content is not None:
            found[path] = content
            if isinstance(thing, torch.Tensor) and thing.is_leaf and thing.grad is not None:
                visit(thing.grad, f"{path}.grad", depth + 1)
            return
        if len(found) >= MOST:
            raise TooMany(f"{name} has more than {MOST} parts")
        if id(thing) in known or depth > _DEEP:
            return
        known.add(id(thing))
        kept.append(thing)
        parts, numbers = children(thing), _numbers(thing)
        if numbers is not None:
            parts = [("[:]", numbers), *parts[len(thing) :]]
        if unread is not None and isinstance(thing, dict):
            left_out = {f"[{key!r}]" for key in unread(thing, path)}
            parts = [(label, part) for label, part in parts if label not in left_out]
        found[path] = "object", _kind(thing, parts)
        registered = _registered(thing)
        for label, part in parts:
            # what is registered is saved with a module, whoever reads it
            own = label.startswith(".") and label[1:] not in registered
            if own and not hasattr(type(thing), label[1:]):
                found.attributes.add(path + label)
            visit(part, path + label, depth + 1)

    visit(value, name, 0)
    return found


def _kind(value: Any, parts: list[tuple[str, Any]]) -> str:
    kind = type(value).__qualname__
    if isinstance(value, _SEQUENCES):
        return f"{kind} of {len(value)}"
    if parts or hasattr(value, "__dict__") or isinstance(value, (dict, np.ndarray)):
        return kind
    # of what is written in C, as far as its words go
    return f"{kind} {_ADDRESS.sub('', repr(value))[:1000]}"


#: gives the value that takes the place of a number, an array or a tensor.
Change = Callable[[Any], Any]


def changed(value: Any, change: Change, memo: dict[int, Any] | None = None) -> Any:
    """The value with every number, array and tensor in it changed; objects are changed in place.

    Args:
        memo: of what was changed already.
    """
    memo = {} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, torch.Tensor):
        made = change(value.detach()) if has_numbers(value) else None
        memo[id(value)] = value
        if made is not None and made.dtype == value.dtype and made.shape == value.shape:
            # in place: others may lie in the same memory
            value.detach().copy_(made)
        elif made is not None:
            value.data = made
        return value
    if isinstance(value, (np.ndarray, np.generic, bool, int, float)):
        made = change(value)
        result = value if made is None else made
        if isinstance(value, np.ndarray):
            if made is not None and made.dtype == value.dtype and value.flags.writeable:
                value[...] = made
                result = value
            memo[id(value)] = result
        return result
    if leaf(value) is not None or len(memo) > MOST:
        return value
    memo[id(value)] = value
    if type(value) is tuple:
        return tuple(changed(item, change, memo) for item in value)
    if isinstance(value, tuple):
        items = [changed(item, change, memo) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else value
    if is_batch(value):
        for part in _stacked(value) or [value.get(key) for key in list(value.keys())]:
            changed(part, change, memo)
        return value
    if isinstance(value, dict):
        for key, item in list(value.items()):
            value[key] = changed(item, change, memo)
    elif isinstance(value, (list, collections.deque)):
        for number, item in enumerate(list(value)):
            value[number] = changed(item, change, memo)
    if isinstance(value, (functools.partial, types.FunctionType, types.MethodType)):
        return value
    for name, item in attributes(value).items():
        other = changed(item, change, memo)
        if other is not item:
            _set(value, name, other)
    return value


def _set(value: Any, name: str, part: Any) -> None:
    """Set an attribute of an object itself, whatever its class makes of the name."""
    own = getattr(value, "__dict__", {})
    if name in own:
        own[name] = part
    else:
        object.__setattr__(value, name, part)


def put(value: Any, label: str, part: Any) -> Any:
    """The value with another part under a label; a tuple is made anew."""
    if label.startswith("."):
        _set(value, label[1:], part)
        return value
    if isinstance(value, tuple):
        items = [part if f"[{n}]" == label else item for n, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, (list, collections.deque)):
        value[int(label[1:-1])] = part
        return value
    keys = {name: key for (name, _), key in zip(children(value), value, strict=False)}
    value[keys.get(label, label)] = part
    return value


def one_unit(value: Any, draw: np.random.Generator) -> Any:
    """A float, or an array of floats, with each number one unit up or down."""
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
    # of its own precision also where NumPy 1 takes a single number for one of double precision
    row, infinite = np.atleast_1d(array), array.dtype.type(np.inf)
    ways = [np.nextafter(row, end, dtype=array.dtype) for end in (infinite, -infinite)]
    moved = np.where(up, *(way.reshape(array.shape) for way in ways))
    # a flag, and nothing, are exact
    moved = np.where((array == 0) | (array == 1), array, moved).astype(array.dtype)
    if isinstance(value, torch.Tensor):
        return torch.from_numpy(np.array(moved)).reshape(value.shape)
    return float(moved) if isinstance(value, float) else moved[()]

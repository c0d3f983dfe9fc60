"""What an object consists of, down to its numbers: described, and changed in place.

Runs inside foreign and old environments: standard library, NumPy and torch only, Python 3.9 syntax.

A path names a leaf as one would write it: ``self.policy.weight``, ``batch['rewards']``.
"""

from __future__ import annotations

import collections
import enum
import functools
import re
import types
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import numpy as np
import torch

from rlregress.tracing.events import as_array

#: leaves of one value that are compared; what has more is compared as far as that.
MOST = 50_000
_DEEP = 40
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NUMBERS = (bool, int, float, complex, np.generic)
_WORDS = (str, bytes, type(None), enum.Enum, np.dtype, torch.dtype, torch.device, slice, range)
_CODE = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType,
    types.MethodWrapperType, types.CodeType,
)  # fmt: skip


def is_array(value: Any) -> bool:
    """Whether it is an array or a tensor."""
    return isinstance(value, (np.ndarray, torch.Tensor))


def leaf(value: Any) -> Any:
    """What is compared of a value without parts: an array of numbers, or words; None: it has parts.

    Words are a pair: the type, and the value.
    """
    if is_array(value) or isinstance(value, np.generic):
        kind = str(value.dtype).replace("torch.", "")
        if isinstance(value, torch.Tensor):
            kind = f"{kind} tensor{' with gradient' if value.requires_grad else ''}"
        array = as_array(value)
        if array.dtype == object:
            return f"{kind} array", _ADDRESS.sub("", repr(value))
        return kind, array
    if isinstance(value, enum.Enum):
        return "enum", str(value)
    if isinstance(value, _NUMBERS):
        return type(value).__name__, np.asarray(value)
    if isinstance(value, _WORDS):
        return type(value).__name__, _ADDRESS.sub("", repr(value))
    if isinstance(value, _CODE):
        return "code", getattr(value, "__qualname__", type(value).__name__)
    if isinstance(value, (set, frozenset)):
        return "set", _ADDRESS.sub("", repr(sorted(map(repr, value))))
    if isinstance(value, np.random.Generator):
        return "generator", repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return "generator", repr(value.get_state())
    if isinstance(value, torch.Generator):
        return "generator", as_array(value.get_state())
    return None


def is_tensordict(value: Any) -> bool:
    """Whether it is a TensorDict of any kind."""
    return any(kind.__name__ == "TensorDictBase" for kind in type(value).__mro__)


def children(value: Any) -> List[Tuple[str, Any]]:
    """The parts of a value that has some, each with what follows the value's name."""
    if is_tensordict(value):
        return [(f"[{key!r}]", value.get(key)) for key in sorted(value.keys(), key=str)]
    found: List[Tuple[str, Any]] = []
    if isinstance(value, dict):
        for number, (key, item) in enumerate(value.items()):
            name = repr(key) if isinstance(key, (str, int, bool, tuple)) else f"key {number}"
            found.append((f"[{name}]", item))
    elif isinstance(value, (list, tuple, collections.deque)):
        found += [(f"[{number}]", item) for number, item in enumerate(value)]
    elif isinstance(value, functools.partial):
        found += [(".func", value.func), (".args", value.args), (".keywords", value.keywords)]
    elif isinstance(value, types.CellType):
        return found
    # also of a subclass of one of those
    found += [(f".{name}", item) for name, item in sorted(attributes(value).items())]
    return found


def attributes(value: Any) -> Dict[str, Any]:
    """The attributes of an object itself, not those of its class."""
    own = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                own[name] = getattr(value, name)
    return own


def described(value: Any, name: str) -> Dict[str, Any]:
    """Path -> leaf of everything that a value consists of.

    The number of items of a sequence, and the kind of what has parts, are leaves as well.
    """
    found: Dict[str, Any] = {}
    seen: Set[int] = set()
    # of what is made on the way, whose identity must not come again
    kept: List[Any] = []

    def visit(each: Any, path: str, depth: int) -> None:
        if len(found) >= MOST or depth > _DEEP:
            return
        own = leaf(each)
        if own is not None:
            found[path] = own
            return
        if id(each) in seen:
            return
        seen.add(id(each))
        kept.append(each)
        parts = children(each)
        sized = isinstance(each, (list, tuple, collections.deque))
        found[path] = "object", f"{type(each).__qualname__}{f' of {len(each)}' if sized else ''}"
        for label, part in parts:
            visit(part, path + label, depth + 1)

    visit(value, name, 0)
    return found


#: gives the value that takes the place of a number, an array or a tensor.
Change = Callable[[Any], Any]


def changed(value: Any, change: Change, memo: Optional[Dict[int, Any]] = None) -> Any:
    """The value with every number, array and tensor in it changed; objects are changed in place.

    Args:
        memo: of what was changed already.
    """
    memo = {} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, torch.Tensor):
        made = change(value.detach())
        memo[id(value)] = value
        if made is not None:
            value.data = made
        return value
    if isinstance(value, (np.ndarray, np.generic, bool, int, float)):
        made = change(value)
        result = value if made is None else made
        if isinstance(value, np.ndarray):
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
    if is_tensordict(value):
        for key in list(value.keys()):
            changed(value.get(key), change, memo)
        return value
    if isinstance(value, dict):
        for key, item in list(value.items()):
            value[key] = changed(item, change, memo)
    elif isinstance(value, (list, collections.deque)):
        for number, item in enumerate(list(value)):
            value[number] = changed(item, change, memo)
    for name, item in attributes(value).items():
        other = changed(item, change, memo)
        if other is not item:
            object.__setattr__(value, name, other)
    return value


def put(value: Any, label: str, part: Any) -> Any:
    """The value with another part under a label; a tuple is made anew."""
    if label.startswith("."):
        object.__setattr__(value, label[1:], part)
        return value
    if isinstance(value, tuple):
        items = [part if f"[{n}]" == label else item for n, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, (list, collections.deque)):
        value[int(label[1:-1])] = part
        return value
    keys = {name: key for (name, _), key in zip(children(value), value)}
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
    moved = np.where(up, np.nextafter(array, np.inf), np.nextafter(array, -np.inf))
    # a flag, and nothing, are exact
    moved = np.where((array == 0) | (array == 1), array, moved).astype(array.dtype)
    if isinstance(value, torch.Tensor):
        return torch.from_numpy(np.array(moved)).reshape(value.shape)
    return float(moved) if isinstance(value, float) else moved[()]

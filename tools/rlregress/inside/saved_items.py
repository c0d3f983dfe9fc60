"""Describes the content of a loaded file, item by item, as texts that are equal if the bits are.

A number, an array and a tensor are described by kind and bits, a function of one number (a
schedule) by its values, another object by its class and its public attributes. So an object in
place of a number differs; a class in place of a closure with the same values does not.
"""

from __future__ import annotations

import collections
import enum
import hashlib
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from rlregress.inside import events, leaves

#: values of the remaining progress at which a schedule is evaluated.
_PROGRESS = (1.0, 0.7, 0.3, 0.0)
#: how many levels of objects within objects are described.
_DEEP = 6
#: how many numbers of an array are written out.
_SHOWN = 3
_SPACE = ("low", "high", "n", "nvec", "start", "spaces")


def describe_items(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield path, description and numbers of each item (part without parts) of a value.

    The numbers are the norm and two projections of all floats; they show how far floats differ.

    Args:
        depth: how many objects the value is in.
    """
    words = _describe_leaf(value)
    if words is not None or depth > _DEEP:
        yield name, words or type(value).__name__, _list_norm_and_projections(value)
        return
    kind, parts = _list_labelled_parts(value)
    yield name, kind, []
    for label, part in parts:
        yield from describe_items(name + label, part, depth + 1)


def _list_norm_and_projections(value: Any) -> list[Any]:
    if not leaves.is_array(value) or isinstance(value, np.ndarray) and value.dtype.kind != "f":
        return []
    _, norm, first, projections, _, _ = events.make_part_of_many_arrays(
        [events.convert_to_array(value)]
    )
    return [norm, *(projections or first)]


def _describe_leaf(value: Any) -> str | None:
    """Return the description of a value without parts; None: it has parts."""
    if isinstance(value, torch.Tensor):
        kind = " ".join(["tensor", *events.describe_unusual_placement(value)])
        return f"{kind} of {_describe_array(events.convert_to_array(value), str(value.dtype))}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"array of {_describe_array(value, value.dtype.str)}"
    if isinstance(value, (torch.dtype, torch.device, np.dtype)):
        return str(value)
    if isinstance(value, type):
        return f"class {value.__name__}"
    if isinstance(value, enum.Enum):
        return f"enum {value}"
    if inspect.isfunction(value) or inspect.ismethod(value) or _may_be_schedule(value):
        return _describe_function(value)
    leaf = leaves.describe_leaf(value)
    if leaf is None:
        return None
    kind, content = leaf
    if isinstance(content, np.ndarray):
        content = repr(content.reshape(-1)[0].item())
    return f"{kind} {content}" if not isinstance(value, (str, type(None))) else str(content)


def _describe_array(array: np.ndarray, kind: str) -> str:
    flat = np.ascontiguousarray(array).reshape(-1)
    first = ", ".join(f"{number:.6g}" if array.dtype.kind == "f" else str(number)
                      for number in flat[:_SHOWN].tolist())  # fmt: skip
    ellipsis = ", ..." if flat.size > _SHOWN else ""
    digest = hashlib.sha256(flat.tobytes()).hexdigest()[:8]
    return f"{kind} {list(array.shape)}: {first}{ellipsis} ({digest})"


def _may_be_schedule(value: Any) -> bool:
    return callable(value) and not isinstance(value, torch.nn.Module)


def _describe_function(function: Callable[..., Any]) -> str | None:
    """Describe a function by its values, or its name; None: it is an object with parts."""
    try:
        values = [float(function(progress)) for progress in _PROGRESS]
    except Exception:  # a function of something else
        if isinstance(function, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
            return f"function {function.__name__}"
        return None
    return f"function of the remaining progress: {', '.join(map(repr, values))}"


def _list_labelled_parts(value: Any) -> tuple[str, list[tuple[str, Any]]]:
    if leaves.is_tensor_batch(value):
        return "batch", leaves.list_labelled_parts(value)
    if hasattr(value, "_asdict"):
        return type(value).__name__, [(f".{k}", part) for k, part in value._asdict().items()]
    if isinstance(value, Mapping):
        rows = sorted(value.items(), key=lambda row: str(row[0]))
        return "mapping", [(f"[{key!r}]", part) for key, part in rows]
    if isinstance(value, (Sequence, collections.deque, np.ndarray)):
        kind = "list" if isinstance(value, (list, collections.deque)) else "tuple"
        return f"{kind} of {len(value)}", [(f"[{n}]", part) for n, part in enumerate(value)]
    if hasattr(value, "contains") and hasattr(value, "sample"):
        # a space of gym or gymnasium; its random generator does not count
        named_parts = [
            (f".{name}", getattr(value, name)) for name in _SPACE if hasattr(value, name)
        ]
        return f"space {type(value).__name__} of {getattr(value, 'dtype', '')}", named_parts
    named: dict[str, Any] = leaves.list_own_attributes(value)
    public = [(f".{name}", part) for name, part in sorted(named.items()) if name[:1] != "_"]
    return f"object {type(value).__name__}", public

"""Events of a trace: their parts, their file, and their place in the traced code.

An event is ``{"kind", "name", "at", "parts"}``. ``at`` is ``[file, line, function, callers]`` of
the nearest frame of the traced code, the file below its root. A part is ``[digest, norm, first
values, shadow, text, types]``: equal digests mean equal types and bits, the numbers explain a
difference. The shadow is two random projections of all values: a difference anywhere in an array
changes it by about its own size. Only parts that hold text have a text. The types are those of
``describe_types``: names, Python types, dtypes, shapes, devices and layouts.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import itertools
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

SCHEMA = 9
#: how many of an array's first values a part contains.
FIRST_VALUES = 4
#: digits after the first of a number in double precision.
_ALL_DIGITS = 16
#: significant digits of the numbers shown in a part; its digest covers all digits.
DIGITS = 9
#: the most characters for the types of a part; a longer text is replaced by its digest.
_TYPES = 400
#: device and layout of most tensors.
_USUAL = ("", "cpu", "torch.strided")
#: classes of tensors without numbers, which stand in for others while a function is compiled.
_SHELLS = ("FakeTensor", "FunctionalTensor")
#: how many callers in the traced code a place contains, beside the nearest frame.
CALLERS = 2

#: the types of an answer that is an error.
RAISED = "value refused"

Part = list[Any]
Event = dict[str, Any]
#: file, line, function, and the same of its callers.
Place = list[Any]


def convert_to_array(value: Any) -> np.ndarray:
    """Return a number, array or tensor as an array in memory; if unreadable, its type's name."""
    try:
        array = np.ascontiguousarray(
            _convert_tensor_to_array(value) if hasattr(value, "detach") else value
        )
    except Exception:
        # a recorder's failure must not end a training
        kind = type(value)
        name = f"unreadable {kind.__module__}.{kind.__qualname__}"
        return np.frombuffer(name.encode(), dtype=np.uint8)
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def _convert_tensor_to_array(tensor: Any) -> Any:
    tensor = tensor.detach()
    # most tensors can be read at once, and the others raise
    with contextlib.suppress(RuntimeError, TypeError):
        return tensor.numpy()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.is_floating_point() and tensor.element_size() < 4:
        # NumPy has no bfloat16, and none of the smaller ones
        tensor = tensor if str(tensor.dtype) == "torch.float16" else tensor.float()
    return tensor.cpu().resolve_conj().resolve_neg().numpy()


def has_readable_numbers(value: Any) -> bool:
    """Return whether a value's numbers can be read; on device meta they cannot, for example."""
    if isinstance(value, (list, tuple)):
        return all(has_readable_numbers(item) for item in value)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return True
    if value.device.type == "meta" or type(value).__name__ in _SHELLS:
        return False
    functorch = getattr(torch._C, "_functorch", None)
    wrapped = getattr(functorch, "is_functorch_wrapped_tensor", None)
    return wrapped is None or not wrapped(value)


#: the address of an object in its representation, which differs in every process.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_directions = [np.zeros((2, 0))]


def _project_numbers(numbers: np.ndarray) -> np.ndarray:
    """Return two fixed random projections of numbers."""
    need = len(numbers)
    if _directions[0].shape[1] < need:
        # a separate generator leaves those of the training alone
        draw = np.random.Generator(np.random.PCG64(1))
        size = 1 << max(need - 1, 1023).bit_length()
        # drawn in pairs along the sequence, so that a longer one begins with the shorter one
        _directions[0] = np.ascontiguousarray(draw.standard_normal((size, 2)).T)
    return np.asarray(_directions[0][:, :need] @ numbers)


def make_event_part(value: Any, types: str | None = None) -> Part:
    """Return digest, numbers and types of a number, an array, a tensor, or a tree of them.

    Args:
        types: None: those of the value.
    """
    types = describe_types(value) if types is None else types
    return _add_types_to_part(_make_untyped_part(value), types)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def _digest_texts(*texts: str) -> str:
    return hashlib.blake2b("".join(texts).encode(), digest_size=8).hexdigest()


def _add_types_to_part(numbers: Part, types: str) -> Part:
    """Add types to a part of numbers, and to its digest."""
    return [_digest_texts(numbers[0], types), *numbers[1:], "", types]


def _make_untyped_part(value: Any) -> Part:
    """Return a part with the digest and numbers of a value, without text and types."""
    if isinstance(value, dict):
        return _join_untyped([_make_untyped_part(value[key]) for key in sorted(value, key=str)])
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim:
        return _join_untyped([_make_untyped_part(item) for item in value.reshape(-1)])
    if isinstance(value, (list, tuple)) and not all(map(_is_number, value)):
        return _join_untyped([_make_untyped_part(item) for item in value])
    array = convert_to_array(value)
    if array.dtype.kind not in "biuf":
        words = _format_as_text(array.tolist() if isinstance(value, np.ndarray) else value)
        return [_digest_texts(_ADDRESS.sub("", words)), None, [], None]
    return _make_part_of_numbers([array])


@contextmanager
def _print_whole_tensors() -> Iterator[None]:
    """Let torch print all digits of all numbers."""
    torch = sys.modules.get("torch")
    options = getattr(getattr(torch, "_tensor_str", None), "PRINT_OPTS", None)
    before = dict(vars(options)) if options is not None else {}
    try:
        if options is not None:
            vars(options).update(threshold=math.inf, precision=_ALL_DIGITS, sci_mode=True)
        yield
    finally:
        if options is not None:
            vars(options).update(before)


def _format_as_text(value: Any) -> str:
    try:
        # all digits of all numbers, also of arrays inside
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"), _print_whole_tensors():
            return repr(value)
    except Exception:
        return f"unreadable {type(value).__module__}.{type(value).__qualname__}"


def make_part_of_text(text: str, types: str = "") -> Part:
    """Return a part that holds text."""
    return [_digest_texts(text, types), None, [], None, text, types]


def describe_types(value: Any) -> str:
    """Return names and types of all values of a tree: ``reward: float32 tensor 8``."""
    return _shorten_types("; ".join(_list_types(value, "")))


def _shorten_types(types: str) -> str:
    """Return a list of types; if it is long, its beginning and a digest."""
    if len(types) <= _TYPES:
        return types
    return f"{types[:_TYPES].rpartition('; ')[0]}; ... {_digest_texts(types)}"


def _list_types(value: Any, name: str) -> Iterator[str]:
    start = f"{name}: " if name else ""
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _list_types(value[key], f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        kinds = {describe_type(item) for item in value}
        is_flat = len(kinds) == 1 and not isinstance(value[0], (dict, list, tuple))
        common = f" {min(kinds)}" if is_flat else ""
        yield f"{start}{type(value).__name__} of {len(value)}{common}"
        for number, item in enumerate(() if is_flat else value):
            yield from _list_types(item, f"{name}[{number}]")
    else:
        yield f"{start}{describe_type(value)}"


#: cache: what a type's description depends on -> the description; most values are of few types.
_types: dict[Any, str] = {}


def describe_type(value: Any) -> str:
    """Return dtype, class, shape, device and layout: ``uint8 array 8x3``; else the class."""
    try:
        places = getattr(value, "device", ""), getattr(value, "layout", "")
        key = type(value), value.dtype, tuple(value.shape), *places
        if key not in _types:
            _types[key] = _describe_new_type(value)
        return _types[key]
    except Exception:
        # no array; whatever its class raises must not end a training
        return type(value).__name__


def _describe_new_type(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, np.generic):
        return f"{kind} scalar"
    shape = "x".join(str(n) for n in value.shape) or "scalar"
    dtype = _name_dtype(value.dtype).replace("torch.", "")
    placement = describe_unusual_placement(value)
    kind = {"ndarray": "array", "Tensor": "tensor"}.get(kind, kind)
    return " ".join([dtype, kind, shape, *placement])


def describe_unusual_placement(value: Any) -> list[str]:
    """Return device and layout if they are unusual, such as a GPU or a sparse layout."""
    names = [str(getattr(value, name, "")) for name in ("device", "layout")]
    return [name for name in names if name not in _USUAL]


@cache
def _name_dtype(dtype: Any) -> str:
    # NumPy builds it anew each time
    return str(dtype)


def make_part_of_many_arrays(values: Sequence[Any], raw: Sequence[Any] | None = None) -> Part:
    """Return one part of many arrays or tensors, such as all parameters of a network.

    Args:
        raw: the values before conversion, whose types are noted; None: the values themselves.
    """
    types = "; ".join(describe_type(value) for value in (values if raw is None else raw))
    return _add_types_to_part(
        _make_part_of_numbers([convert_to_array(value) for value in values]), _shorten_types(types)
    )


def _make_part_of_numbers(arrays: Sequence[np.ndarray]) -> Part:
    digest = hashlib.blake2b(digest_size=8)
    flat = [array.reshape(-1) for array in arrays]
    for array, row in zip(arrays, flat, strict=False):
        digest.update(f"{_name_dtype(array.dtype)}{array.shape}".encode())
        digest.update(row.data)
    rows = [row.astype(np.float64) for row in flat]
    numbers = rows[0] if len(rows) == 1 else np.concatenate([np.zeros(0), *rows])
    # a short array's numbers are all in the part: it needs no projections
    is_long = len(numbers) > FIRST_VALUES
    with np.errstate(all="ignore"):
        total = float(np.dot(numbers, numbers))
        shadow = _project_numbers(numbers).tolist() if is_long else []
    first_values = [_round_number(x) for x in rows[0][:FIRST_VALUES].tolist()] if rows else []
    projections = [_round_number(x) for x in shadow] if is_long else None
    return [digest.hexdigest(), _round_number(total**0.5), first_values, projections]


def join_event_parts(parts: Sequence[Part]) -> Part:
    """Join several parts (recorded values) into one."""
    return _add_types_to_part(_join_untyped(parts), _shorten_types("; ".join(p[5] for p in parts)))


def _join_untyped(parts: Sequence[Part]) -> Part:
    digest = _digest_texts(*(p[0] for p in parts))
    norms = [float(p[1]) for p in parts if p[1] is not None]
    values = [value for p in parts for value in p[2]][:FIRST_VALUES]
    norm = _round_number(sum(n * n for n in norms) ** 0.5) if norms else None
    first, second = 0.0, 0.0
    for piece in parts:
        # different weights, so that exchanging two parts changes the result
        projections = _read_projections(piece)
        first, second = 0.9 * first + projections[0], 0.9 * second + projections[1]
    return [digest, norm, values, [_round_number(first), _round_number(second)]]


def _read_projections(part: Part) -> list[float]:
    if part[3]:
        return [float(x) for x in part[3]]
    with np.errstate(all="ignore"):
        return [float(x) for x in _project_numbers(np.array([float(x) for x in part[2]]))]


def _round_number(number: float) -> Any:
    # JSON has no NaN; the digest tells its bits apart
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else str(number)


class NumberedNames:
    """Names objects by class and number, from 0, in the order of their first use."""

    def __init__(self) -> None:
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._count = itertools.count()

    def name_object(self, value: Any) -> str:
        if value not in self._numbers:
            self._numbers[value] = next(self._count)
        return f"{type(value).__name__} {self._numbers[value]}"


@cache
def list_given_and_real_path(file: str) -> tuple[str, str]:
    """Return a file's absolute path, and with links resolved: a copy may consist of links."""
    return os.path.abspath(file), os.path.realpath(file)


class Places:
    """The folders and files of the traced code; finds the nearest stack frame in them.

    Args:
        roots: folders or files of the traced code; a file's frames are named by its base name.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        paths = [path for root in roots for path in list_given_and_real_path(root)]
        self._roots = list(dict.fromkeys([*paths[::2], *paths[1::2]]))
        self._names: dict[str, str | None] = {}

    def find_path_below_root(self, file: str) -> str | None:
        """Return the path of a file below its root; None: it is not of the traced code."""
        if file not in self._names:
            self._names[file] = next(
                (
                    os.path.relpath(path, os.path.dirname(root))
                    for path in list_given_and_real_path(file)
                    for root in self._roots
                    if path == root or path.startswith(root + os.sep)
                ),
                None,
            )
        return self._names[file]

    def find_nearest_traced_place(self) -> Place | None:
        """Return file, line, function and callers of the nearest traced frame, or None."""
        frame: Any = sys._getframe()
        frames: list[list[Any]] = []
        while frame is not None and len(frames) <= CALLERS:
            code = frame.f_code
            # at every frame of every event: a call for each would cost as much as the rest
            name = self._names.get(code.co_filename, "")
            if name == "":
                name = self.find_path_below_root(code.co_filename)
            if name is not None:
                frames.append([name, frame.f_lineno, code.co_name])
            frame = frame.f_back
        return [*frames[0], frames[1:]] if frames else None

    def select_traced_frames(self, frames: Iterable[tuple[str, int, str]]) -> list[list[Any]]:
        """Return the nearest of the frames that are in traced code, in the form of a place."""
        named = [
            [self.find_path_below_root(file), line, function] for file, line, function in frames
        ]
        return [frame for frame in named if frame[0] is not None][: CALLERS + 1]


def write_trace(path: str, header: dict[str, Any], events: Sequence[Event]) -> None:
    """Write a trace by atomic rename: a line for the header, a line for each event, compressed."""
    temporary = f"{path}.tmp"
    with gzip.open(temporary, "wt", encoding="utf-8", compresslevel=5) as file:
        for line in [{"schema": SCHEMA, **header}, *events]:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    os.replace(temporary, path)

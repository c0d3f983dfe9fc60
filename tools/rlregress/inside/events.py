"""What an event is, how it is written down, and where in the traced code it came from.

Runs inside foreign and old environments: standard library, NumPy and torch only, Python 3.9 syntax.

An event is ``{"kind", "name", "at", "parts"}``. ``at`` is ``[file, line, function, callers]`` of
the nearest frame of the traced code, the file below its root. A part is ``[digest, norm, first
values, shadow]``: equal digests mean equal bits, the numbers explain a difference. The shadow is
two random projections of all values: a difference anywhere in an array shows in it, by about its
own size. A part of words has them as a fifth item.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import re
import sys
from functools import lru_cache
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

SCHEMA = 8
#: values of an array that are kept.
KEPT = 4
#: significant digits that are kept of a number; the digest is of all of them.
DIGITS = 9
#: tensors that stand for others while a function is compiled.
_SHELLS = ("FakeTensor", "FunctionalTensor")
#: frames of the traced code that are kept above the nearest one.
CALLERS = 2

#: the types of an answer that is an error.
RAISED = "value refused"

Part = List[Any]
Event = Dict[str, Any]
#: file, line, function, and the same of its callers.
Place = List[Any]


def as_array(value: Any) -> np.ndarray:
    """Any number, array or tensor as an array in memory; what cannot be read as its type's name."""
    try:
        array = np.ascontiguousarray(_of_tensor(value) if hasattr(value, "detach") else value)
    except Exception:
        # a recorder's failure must not end a training
        kind = type(value)
        name = f"unreadable {kind.__module__}.{kind.__qualname__}"
        return np.frombuffer(name.encode(), dtype=np.uint8)
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def _of_tensor(tensor: Any) -> Any:
    tensor = tensor.detach()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.is_floating_point() and tensor.element_size() < 4:
        # NumPy has no bfloat16, and none of the smaller ones
        tensor = tensor if str(tensor.dtype) == "torch.float16" else tensor.float()
    return tensor.cpu().resolve_conj().resolve_neg().numpy()


def readable(value: Any) -> bool:
    """Whether there are numbers: not so on device meta, or in what is transformed or compiled."""
    if isinstance(value, (list, tuple)):
        return all(readable(item) for item in value)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return True
    if value.device.type == "meta" or type(value).__name__ in _SHELLS:
        return False
    functorch = getattr(torch._C, "_functorch", None)
    wrapped = getattr(functorch, "is_functorch_wrapped_tensor", None)
    return wrapped is None or not wrapped(value)


#: where an object lies, in its words: another place in every process.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_directions = [np.zeros((2, 0))]


def _shadow(start: int, numbers: np.ndarray) -> np.ndarray:
    """Two fixed random projections of numbers that stand at ``start`` of a longer sequence."""
    need = start + len(numbers)
    if _directions[0].shape[1] < need:
        # a generator of its own: the training's are not touched
        draw = np.random.Generator(np.random.PCG64(1))
        size = 1 << max(need - 1, 1023).bit_length()
        # number by number, so that a longer sequence begins with the shorter one
        _directions[0] = np.ascontiguousarray(draw.standard_normal((size, 2)).T)
    return np.asarray(_directions[0][:, start:need] @ numbers)


def part(value: Any) -> Part:
    """Digest and numbers of a number, an array, a tensor, or a tree of them."""
    if isinstance(value, dict):
        return joined([part(value[key]) for key in sorted(value, key=str)])
    if isinstance(value, (list, tuple)):
        return joined([part(item) for item in value])
    array = as_array(value)
    if array.dtype == object or array.dtype.kind not in "biuf":
        text = _ADDRESS.sub("", _words(value)).encode()
        return [hashlib.blake2b(text, digest_size=8).hexdigest(), None, [], None]
    return parts_of([array])


def _words(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"unreadable {type(value).__module__}.{type(value).__qualname__}"


def in_words(text: str) -> Part:
    """A part that is words: names, types and shapes."""
    return [hashlib.blake2b(text.encode(), digest_size=8).hexdigest(), None, [], None, text]


def types_of(values: Dict[str, Any]) -> Part:
    """The names, types and shapes of values, and of what is in trees of them."""
    return in_words("; ".join(f"{name} {_type(values[name])}" for name in sorted(values)))


def _type(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{key} {_type(value[key])}" for key in sorted(value, key=str))
        return f"{{{inner}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_type(item) for item in value)}]"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        kind = str(value.dtype).replace("torch.", "")
        return f"{kind} {'x'.join(str(n) for n in value.shape) or 'scalar'}"
    return type(value).__name__


@lru_cache(maxsize=None)
def _name(dtype: Any) -> str:
    # NumPy puts it together anew each time
    return str(dtype)


def parts_of(arrays: Sequence[np.ndarray]) -> Part:
    """One part of many arrays of numbers, such as all parameters of a network."""
    digest = hashlib.blake2b(digest_size=8)
    flat = [array.reshape(-1) for array in arrays]
    for array, row in zip(arrays, flat):
        digest.update(f"{_name(array.dtype)}{array.shape}".encode())
        digest.update(row.tobytes())
    rows = [row.astype(np.float64) for row in flat]
    numbers = rows[0] if len(rows) == 1 else np.concatenate([np.zeros(0), *rows])
    with np.errstate(all="ignore"):
        total, shadow = float(np.dot(numbers, numbers)), _shadow(0, numbers)
    first: Any = flat[0][:KEPT] if flat else []
    # a few numbers are kept whole: they need no shadow
    cast = [_kept(float(x)) for x in shadow] if len(numbers) > KEPT else None
    return [digest.hexdigest(), _kept(total**0.5), [_kept(float(x)) for x in first], cast]


def joined(parts: Sequence[Part]) -> Part:
    """One part of a sequence of parts."""
    digest = hashlib.blake2b("".join(p[0] for p in parts).encode(), digest_size=8).hexdigest()
    norms = [float(p[1]) for p in parts if p[1] is not None]
    values = [value for p in parts for value in p[2]][:KEPT]
    norm = _kept(sum(n * n for n in norms) ** 0.5) if norms else None
    shadow = np.zeros(2)
    with np.errstate(all="ignore"):
        for piece in parts:
            # each at a weight of its own, so that an exchange of two shows
            shadow = 0.9 * shadow + _cast(piece)
    return [digest, norm, values, [_kept(float(x)) for x in shadow]]


def _cast(part: Part) -> np.ndarray:
    numbers = np.array([float(x) for x in (part[3] or part[2])])
    return numbers if part[3] else _shadow(0, numbers)


def _kept(number: float) -> Any:
    # JSON has no NaN; its digest tells it apart
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else str(number)


@lru_cache(maxsize=None)
def paths_of(file: str) -> Tuple[str, str]:
    """A file as it is named and as it is: a copy of a package may be made of links."""
    return os.path.abspath(file), os.path.realpath(file)


class Places:
    """Finds the nearest frame of the traced code.

    Args:
        roots: folders or files of the traced code; a file's frames are named by its base name.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        # as they are named and as they are: a copy of a package may be made of links
        named = [f(root) for f in (os.path.abspath, os.path.realpath) for root in roots]
        self._roots = list(dict.fromkeys(named))
        self._known: Dict[str, Optional[str]] = {}

    def name(self, file: str) -> Optional[str]:
        """The file below its root, or None if it is not of the traced code."""
        if file not in self._known:
            self._known[file] = next(
                (
                    os.path.relpath(path, os.path.dirname(root))
                    for path in paths_of(file)
                    for root in self._roots
                    if path == root or path.startswith(root + os.sep)
                ),
                None,
            )
        return self._known[file]

    def nearest(self, depth: int = 2) -> Optional[Place]:
        """File, line, function and callers of the nearest frame of the traced code, or None."""
        frame: Any = sys._getframe(depth)
        frames: List[List[Any]] = []
        while frame is not None and len(frames) <= CALLERS:
            name = self.name(frame.f_code.co_filename)
            if name is not None:
                frames.append([name, frame.f_lineno, frame.f_code.co_name])
            frame = frame.f_back
        return [*frames[0], frames[1:]] if frames else None

    def of(self, frames: Iterable[Tuple[str, int, str]]) -> List[List[Any]]:
        """The nearest of some frames that are of the traced code, named as in an event."""
        named = [[self.name(file), line, function] for file, line, function in frames]
        return [frame for frame in named if frame[0] is not None][: CALLERS + 1]


def write(path: str, header: Dict[str, Any], events: Sequence[Event]) -> None:
    """Write a trace by atomic rename: a line for the header, a line for each event, compressed."""
    temporary = f"{path}.tmp"
    with gzip.open(temporary, "wt", encoding="utf-8", compresslevel=5) as file:
        for line in [{"schema": SCHEMA, **header}, *events]:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    os.replace(temporary, path)

"""What an event is, how it is written down, and where in the traced code it came from.

Runs inside foreign and old environments: standard library, NumPy and torch only, Python 3.9 syntax.

An event is ``{"kind", "name", "at", "parts"}``. ``at`` is ``[file, line, function]`` of the nearest
frame of the traced code, the file below its root. A part is ``[digest, norm, first values]``: equal
digests mean equal bits, the numbers explain a difference.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

SCHEMA = 1
#: values of an array that are kept.
KEPT = 4

Part = List[Any]
Event = Dict[str, Any]


def as_array(value: Any) -> np.ndarray:
    """Any number, array or tensor as an array in memory."""
    if hasattr(value, "detach"):
        value = value.detach()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        return np.ascontiguousarray(value.cpu().numpy())
    return np.ascontiguousarray(value)


def part(value: Any) -> Part:
    """Digest, norm and first values of a number, an array, a tensor, or a tree of them."""
    if isinstance(value, dict):
        return _joined([part(value[key]) for key in sorted(value, key=str)])
    if isinstance(value, (list, tuple)):
        return _joined([part(item) for item in value])
    array = as_array(value)
    if array.dtype == object or array.dtype.kind not in "biuf":
        text = repr(value).encode()
        return [hashlib.blake2b(text, digest_size=8).hexdigest(), None, []]
    digest = hashlib.blake2b(digest_size=8)
    digest.update(f"{array.dtype}{array.shape}".encode())
    digest.update(array.tobytes())
    flat = array.reshape(-1)
    numbers = flat.astype(np.float64)
    norm = float(np.sqrt(np.dot(numbers, numbers)))
    return [digest.hexdigest(), _finite(norm), [_finite(float(x)) for x in numbers[:KEPT]]]


def parts_of(arrays: Sequence[np.ndarray]) -> Part:
    """One part of many arrays, such as all parameters of a network."""
    digest = hashlib.blake2b(digest_size=8)
    total = 0.0
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(array.tobytes())
        flat = array.reshape(-1).astype(np.float64)
        total += float(np.dot(flat, flat))
    first: Any = arrays[0].reshape(-1)[:KEPT] if arrays else []
    return [digest.hexdigest(), _finite(total**0.5), [_finite(float(x)) for x in first]]


def _joined(parts: Sequence[Part]) -> Part:
    digest = hashlib.blake2b("".join(p[0] for p in parts).encode(), digest_size=8).hexdigest()
    norms = [p[1] for p in parts if p[1] is not None]
    values = [value for p in parts for value in p[2]][:KEPT]
    return [digest, _finite(sum(n * n for n in norms) ** 0.5) if norms else None, values]


def _finite(number: float) -> Any:
    # JSON has no NaN; its digest tells it apart
    return number if np.isfinite(number) else str(number)


class Places:
    """Finds the nearest frame of the traced code.

    Args:
        roots: folders or files of the traced code; a file's frames are named by its base name.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = [os.path.realpath(root) for root in roots]
        self._known: Dict[str, Optional[str]] = {}

    def name(self, file: str) -> Optional[str]:
        """The file below its root, or None if it is not of the traced code."""
        if file not in self._known:
            path = os.path.realpath(file)
            self._known[file] = next(
                (
                    os.path.relpath(path, os.path.dirname(root))
                    for root in self._roots
                    if path == root or path.startswith(root + os.sep)
                ),
                None,
            )
        return self._known[file]

    def nearest(self, depth: int = 2) -> Optional[Tuple[str, int, str]]:
        """File, line and function of the nearest frame of the traced code, or None."""
        frame: Any = sys._getframe(depth)
        while frame is not None:
            name = self.name(frame.f_code.co_filename)
            if name is not None:
                return name, frame.f_lineno, frame.f_code.co_name
            frame = frame.f_back
        return None


def write(path: str, header: Dict[str, Any], events: Sequence[Event]) -> None:
    """Write a trace by atomic rename: a line for the header, a line for each event, compressed."""
    temporary = f"{path}.tmp"
    with gzip.open(temporary, "wt", encoding="utf-8", compresslevel=5) as file:
        for line in [{"schema": SCHEMA, **header}, *events]:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    os.replace(temporary, path)

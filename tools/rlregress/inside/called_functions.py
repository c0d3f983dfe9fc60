"""Which functions of a framework are entered while something runs.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import CodeType
from typing import Any

from rlregress import source

#: file below the folder of its package, and qualified name.
Function = tuple[str, str]


class CalledFunctions:
    """Notes functions while it is entered; use it as a context manager, also again and again.

    Args:
        folders: of the packages that count.

    Attributes:
        found: the functions of the last time.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [os.path.realpath(folder) for folder in folders]
        self._known: dict[int, Function | None] = {}
        self._codes: list[CodeType] = []
        self.found: set[Function] = set()

    def __enter__(self) -> CalledFunctions:
        self.found = set()
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(self._before)

    def _call(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if id(code) not in self._known:
            # kept, so that no other code comes to have its identity
            self._codes.append(code)
            self._known[id(code)] = self._function(code)
        function = self._known[id(code)]
        if function is not None:
            self.found.add(function)

    def _function(self, code: CodeType) -> Function | None:
        path = os.path.realpath(code.co_filename)
        for folder in self._folders:
            if path.startswith(folder + os.sep):
                parsed = source.parse_file(path)
                if parsed is None:
                    return None
                name = parsed.function(code.co_firstlineno)
                return (os.path.relpath(path, os.path.dirname(folder)), name)
        return None

"""Local variables that repeated code hands on: ``callback.update_locals(locals())``.

They are how a function is written, not what it returns, but for those that somebody reads.
"""

from __future__ import annotations

import builtins
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any

#: a variable that is read from what ``locals()`` returned: ``self.locals["dones"]``.
_READ = re.compile(r"(\w*locals\w*)\s*(?:\[|\.get\(|\.pop\()\s*[\"'](\w+)[\"']")
_WORDS = re.compile(r"\w+")
#: in place of a dictionary's name: of whatever dictionary.
ANYWHERE = ""
NamesRead = Mapping[str, set[str]]
#: any name in quotes: a script may call the dictionary as it likes.
_QUOTED = re.compile(r"[\"'](\w+)[\"']")


class HandedLocals:
    """Notes what ``locals()`` returns while it is entered; use it as a context manager.

    Args:
        read: returns the variables that somebody reads; see ``names_read``.
    """

    def __init__(self, read: Callable[[], NamesRead]) -> None:
        self._read = read
        self._returned: list[dict[str, Any]] = []

    def __enter__(self) -> HandedLocals:
        self._original = builtins.locals
        builtins.locals = self._locals
        return self

    def __exit__(self, *_: Any) -> None:
        builtins.locals = self._original

    def _locals(self) -> dict[str, Any]:
        frame = sys._getframe(1)
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            # of a module or a class, which may write into it
            return frame.f_locals
        self._returned.append(dict(frame.f_locals))
        return self._returned[-1]

    def unread(self, value: dict[Any, Any], path: str) -> Collection[str]:
        """Return the keys of a dictionary that are handed local variables and that nobody reads.

        Args:
            path: of the dictionary: ``callback.locals``.
        """
        inside = [of for of in self._returned if of and of.keys() <= value.keys()]
        if not any(all(value[name] is of[name] for name in of) for of in inside):
            return ()
        read = self._read()
        # readers of another dictionary, such as that of an evaluation, do not read this one
        own = read.get(_WORDS.findall(path)[-1], set().union(*read.values()))
        return {name for of in inside for name in of} - read.get(ANYWHERE, set()) - own


@cache
def names_read(roots: tuple[str, ...]) -> NamesRead:
    """Return the variables that code reads from ``locals()``, by the name of the dictionary.

    Args:
        roots: folders of packages, and scripts; of a script all that it names in quotes, ANYWHERE.
    """
    found: dict[str, set[str]] = {}
    for root in roots:
        package = os.path.isdir(root)
        for path in _below(root) if package else _beside(root):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            pairs = (
                _READ.findall(text) if package else [(ANYWHERE, n) for n in _QUOTED.findall(text)]
            )
            for dictionary, name in pairs:
                found.setdefault(dictionary, set()).add(name)
    return found


def _below(root: str) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def _beside(script: str) -> Iterator[str]:
    """Yield a script and the modules beside it, which it may import."""
    folder = os.path.dirname(script)
    yield from (os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".py"))

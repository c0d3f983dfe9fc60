"""Local variables that repeated code hands on: ``callback.update_locals(locals())``.

They are how a function is written, not what it returns, but for those that somebody reads.

Runs inside foreign and old environments: standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import builtins
import inspect
import os
import re
import sys
from functools import lru_cache
from typing import Any, Callable, Collection, Dict, FrozenSet, Iterator, List, Tuple

#: a variable that is read from what ``locals()`` returned: ``self.locals["dones"]``.
_READ = re.compile(r"locals\w*\s*(?:\[|\.get\(|\.pop\()\s*[\"'](\w+)[\"']")
#: any name in quotes: a script may call the dictionary as it likes.
_QUOTED = re.compile(r"[\"'](\w+)[\"']")


class HandedLocals:
    """Notes what ``locals()`` returns while it is entered; use it as a context manager.

    Args:
        read: returns the names of variables that somebody reads.
    """

    def __init__(self, read: Callable[[], Collection[str]]) -> None:
        self._read = read
        self._returned: List[Dict[str, Any]] = []

    def __enter__(self) -> HandedLocals:
        self._original = builtins.locals
        builtins.locals = self._locals
        return self

    def __exit__(self, *_: Any) -> None:
        builtins.locals = self._original

    def _locals(self) -> Dict[str, Any]:
        frame = sys._getframe(1)
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            # of a module or a class, which may write into it
            return frame.f_locals
        self._returned.append(dict(frame.f_locals))
        return self._returned[-1]

    def unread(self, value: Dict[Any, Any]) -> Collection[str]:
        """Return the keys of a dictionary that are handed local variables and that nobody reads."""
        inside = [of for of in self._returned if of and of.keys() <= value.keys()]
        if not any(all(value[name] is of[name] for name in of) for of in inside):
            return ()
        return {name for of in inside for name in of} - set(self._read())


@lru_cache(maxsize=None)
def names_read(roots: Tuple[str, ...]) -> FrozenSet[str]:
    """Return the variables that the code of some folders reads from ``locals()``.

    Args:
        roots: folders of packages, and scripts; of a script all that it names in quotes.
    """
    found = set()
    for root in roots:
        pattern, files = (_READ, _below(root)) if os.path.isdir(root) else (_QUOTED, _beside(root))
        for path in files:
            with open(path, encoding="utf-8", errors="replace") as file:
                found.update(pattern.findall(file.read()))
    return frozenset(found)


def _below(root: str) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def _beside(script: str) -> Iterator[str]:
    """Yield a script and the modules beside it, which it may import."""
    folder = os.path.dirname(script)
    yield from (os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".py"))

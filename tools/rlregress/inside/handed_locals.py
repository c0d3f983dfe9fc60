"""Local variables that repeated code passes on: ``callback.update_locals(locals())``.

They depend on how a function is written, and are not its result. Only variables that other code
reads are compared.
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

#: finds a variable that is read from the dictionary of ``locals()``: ``self.locals["dones"]``.
_READ = re.compile(r"(\w*locals\w*)\s*(?:\[|\.get\(|\.pop\()\s*[\"'](\w+)[\"']")
_WORDS = re.compile(r"\w+")
#: stands for the name of a dictionary where it may be any.
ANYWHERE = ""
NamesByDictionary = Mapping[str, set[str]]
#: finds a name in quotes, for scripts, whose dictionary may have any name.
_QUOTED = re.compile(r"[\"'](\w+)[\"']")


class HandedLocals:
    """Notes the dictionaries that ``locals()`` returns; use it as a context manager.

    Args:
        find_locals_read: see ``find_locals_read_by_dictionary``.
    """

    def __init__(self, find_locals_read: Callable[[], NamesByDictionary]) -> None:
        self._find_locals_read = find_locals_read
        self._returned: list[dict[str, Any]] = []

    def __enter__(self) -> HandedLocals:
        self._original = builtins.locals
        builtins.locals = self._copy_locals_of_caller
        return self

    def __exit__(self, *_: Any) -> None:
        builtins.locals = self._original

    def _copy_locals_of_caller(self) -> dict[str, Any]:
        frame = sys._getframe(1)
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            # a module or a class, which may write into it
            return frame.f_locals
        self._returned.append(dict(frame.f_locals))
        return self._returned[-1]

    def find_unread_locals(self, dictionary: dict[Any, Any], path: str) -> Collection[str]:
        """Return the keys of a dictionary that are local variables which no other code reads.

        Args:
            path: of the dictionary, such as ``callback.locals``.
        """
        subsets = [names for names in self._returned if names and names.keys() <= dictionary.keys()]
        if not any(all(dictionary[name] is names[name] for name in names) for names in subsets):
            return ()
        read = self._find_locals_read()
        # readers of another dictionary, such as that of an evaluation, do not read this one
        read_here = read.get(_WORDS.findall(path)[-1], set().union(*read.values()))
        return {name for names in subsets for name in names} - read.get(ANYWHERE, set()) - read_here


@cache
def find_locals_read_by_dictionary(roots: tuple[str, ...]) -> NamesByDictionary:
    """Return the variables that code reads from ``locals()``, by the name of the dictionary.

    Args:
        roots: folders of packages, and scripts. A script counts as reading all strings in it.
    """
    by_dictionary: dict[str, set[str]] = {}
    for root in roots:
        is_package = os.path.isdir(root)
        for path in (
            _list_files_of_package(root) if is_package else _list_script_and_files_beside(root)
        ):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            pairs = _READ.findall(text)
            if not is_package:
                pairs = [(ANYWHERE, name) for name in _QUOTED.findall(text)]
            for dictionary, name in pairs:
                by_dictionary.setdefault(dictionary, set()).add(name)
    return by_dictionary


def _list_files_of_package(root: str) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def _list_script_and_files_beside(script: str) -> Iterator[str]:
    """Yield a script and the modules beside it, which it may import."""
    folder = os.path.dirname(script)
    yield from (os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".py"))

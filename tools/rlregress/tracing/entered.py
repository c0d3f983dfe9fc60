"""Functions that a training enters: what of the code has a part in it.

Runs inside foreign and old environments: standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import inspect
import sys
import threading
from types import CodeType
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Set, Tuple

from rlregress import source
from rlregress.tracing import events

#: file below its root, and qualified name.
Function = Tuple[str, str]


class Entered:
    """Notes the functions that are entered meanwhile; use it as a context manager.

    Args:
        places: tells the traced code from all other.
        functions: those that matter.
        met: called with the first of them.
    """

    def __init__(
        self,
        places: events.Places,
        functions: Iterable[Function] = (),
        met: Optional[Callable[[Function], None]] = None,
    ) -> None:
        self._places = places
        self._matter: FrozenSet[Function] = frozenset(functions)
        self.met = met
        self._known: Set[int] = set()
        # kept, so that no other code comes to have its identity
        self._codes: List[CodeType] = []
        self._found: Set[Function] = set()

    def __enter__(self) -> Entered:
        known, meet = self._known, self._meet

        # a closure: it runs at every call of any function
        def call(frame: Any, event: str, _: Any) -> None:
            if id(frame.f_code) not in known:
                meet(frame.f_code)

        threading.settrace(call)
        sys.settrace(call)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _meet(self, code: CodeType) -> None:
        self._known.add(id(code))
        self._codes.append(code)
        file = self._places.name(code.co_filename)
        # modules and classes only define things
        if file is None or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        of_file = source.of_file(code.co_filename)
        if of_file is None:
            return
        function = (file, of_file.function(code.co_firstlineno))
        self._found.add(function)
        if function in self._matter and self.met is not None:
            self.met(function)

    def functions(self) -> Dict[str, List[str]]:
        """File below its root -> qualified names of the functions that were entered."""
        found: Dict[str, List[str]] = {}
        for file, name in sorted(self._found):
            found.setdefault(file, []).append(name)
        return found

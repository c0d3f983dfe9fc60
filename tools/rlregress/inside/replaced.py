"""Replacements of functions while a recorder's hooks are installed.

A script must not notice a replacement: it is pickled by the original's name, equals the original
where torch and NumPy look a function up, and is inspected as the original.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from types import MethodType, ModuleType
from typing import Any

import torch


def _is_never_compiling() -> bool:
    return False


# torch.compile follows neither frames nor the state of the recorder: it must compile the original
compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _is_never_compiling)


class Hook(functools.partial):
    """A hook that is registered with torch; it is pickled as a function that does nothing.

    Torch pickles the optimiser of a script together with all hooks that are registered.
    """

    def __reduce__(self) -> Any:
        return getattr, (contextlib.nullcontext(), "__exit__")


class Replacement(functools.partial):
    """Replaces a function that is written in C; it adds no frame to the stack.

    A script's class may store a replacement, compare it, or ask for its type.
    """

    def imitate_original(self, original: Any, module: str, name: str) -> Replacement:
        """Copy the documentation of the original, and take its qualified ``name``."""
        self.__wrapped__ = original
        self.__name__, self.__qualname__ = name.rpartition(".")[2], name
        self.__module__ = module
        self.__doc__ = original.__doc__
        # most functions in C do not become methods of the class that holds them; a method of an
        # object, such as NumPy's generator, is bound already
        is_bound = getattr(original, "__self__", None) is not None
        self._binds = hasattr(type(original), "__get__") and not is_bound
        return self

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return MethodType(self, owner) if self._binds and owner is not None else self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["__wrapped__"], name)

    def __eq__(self, value: Any) -> bool:
        return bool(self.__wrapped__ == getattr(value, "__wrapped__", value))

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> Any:
        owner = getattr(self.__wrapped__, "__self__", None)
        if owner is None or isinstance(owner, (type, ModuleType)):
            return self.__qualname__
        # a method of a random generator, which is pickled with it
        return self.__wrapped__.__reduce__()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        copied = copy.deepcopy(self.__wrapped__, memo)
        return self if copied is self.__wrapped__ else copied

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__wrapped__)


def make_replacement(owner: Any, name: str, original: Any, called: Any) -> Any:
    """Return a replacement of ``owner.name`` that calls ``called`` and looks like the original."""
    is_class = inspect.isclass(owner)
    module = owner.__module__ if is_class else owner.__name__
    qualified = f"{owner.__qualname__}.{name}" if is_class else name
    if inspect.isroutine(original) and not inspect.isfunction(original):
        return Replacement(called).imitate_original(original, module, qualified)
    # pickled by its name: a function that is sent to another process takes no recorder along
    called.__name__, called.__qualname__, called.__module__ = name, qualified, module
    if original is not None:
        called.__doc__, called.__wrapped__ = original.__doc__, original
        called.__annotations__ = getattr(original, "__annotations__", {})
    return called

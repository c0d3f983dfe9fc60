"""The networks as a training leaves them: what no loss and no step of an optimiser tells.

Networks are held until the next event after the script has let go of them: those of a function are
gone when it returns, and the end of a script is mostly that of a function. What a training leaves
as it was is left out: a network that it only makes is no part of it.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections.abc import Iterable
from typing import Any

import torch

from rlregress.inside.events import Part, parts_of, readable
from rlregress.probing.framework_errors import through


def _references(held: dict[int, Any]) -> dict[int, int]:
    return {key: sys.getrefcount(held[key]) for key in held}


#: references that are counted of an object that nobody else holds.
_ALONE = _references({0: object()})[0]


#: events after which what is in circles of references is collected.
_COLLECTED = 2000


class Networks:
    """All modules that were made or copied and are still in use."""

    def __init__(self) -> None:
        #: by identity, in the order in which they were made.
        self._held: dict[int, Any] = {}
        self._new: list[Any] = []
        #: parameters and buffers by identity, as they began.
        self._begun: dict[int, tuple[Any, str]] = {}
        self._looks = 0

    def install(self, recorder: Any) -> None:
        """Meet every module from now on."""
        # a network in a circle of references goes when the collector comes, which has to be at the
        # same event in every run
        if gc.isenabled():
            gc.disable()
            recorder.on_exit(gc.enable)
        # copies and what was pickled come by their state
        for name in ("__init__", "__setstate__"):
            recorder.replace(torch.nn.Module, name, self._meeting(getattr(torch.nn.Module, name)))

    def _meeting(self, original: Any) -> Any:
        def made(module: Any, /, *arguments: Any, **options: Any) -> None:
            if id(module) not in self._held:
                self._held[id(module)] = module
                self._new.append(module)
            through(original, module, *arguments, **options)

        return made

    def look(self) -> None:
        """Note how new networks begin, and let go of those that nobody else holds."""
        new, self._new = self._new, []
        self._looks += 1
        if new or self._looks % _COLLECTED == 0:
            gc.collect()
        for tensor in _tensors(new, "parameters") + _tensors(new, "buffers"):
            if self._began(tensor) is None:
                self._begun[id(tensor)] = (weakref.ref(tensor), parts_of([tensor])[0])
        new.clear()
        self._forget_dead()

    def _forget_dead(self) -> None:
        while True:
            dead = [key for key, count in _references(self._held).items() if count <= _ALONE]
            if not dead:
                return
            # with a network go its layers, in the next round
            for key in dead:
                del self._held[key]

    def _began(self, tensor: Any) -> str | None:
        """The digest that a tensor had at first, if it was looked at."""
        known, digest = self._begun.get(id(tensor), (lambda: None, ""))
        return digest if known() is tensor else None

    def parts(self) -> dict[str, Part]:
        """Parameters and buffers that the training has changed; nothing if there are none."""
        changed = {kind: self._changed(kind) for kind in ("parameters", "buffers")}
        if not any(changed.values()):
            return {}
        return {kind: parts_of(tensors) for kind, tensors in changed.items()}

    def names(self) -> dict[int, str]:
        """Parameter or buffer, by identity -> its name: the class of its network, and its path."""
        inner = {id(child) for held in self._held.values() for child in _children(held)}
        found: dict[int, str] = {}
        counts: dict[str, int] = {}
        for key, network in self._held.items():
            if key in inner:
                continue
            kind = type(network).__name__
            counts[kind] = counts.get(kind, 0) + 1
            own = kind if counts[kind] == 1 else f"{kind} {counts[kind]}"
            for tensors in ("named_parameters", "named_buffers"):
                with contextlib.suppress(Exception):
                    for path, tensor in getattr(network, tensors)():
                        found.setdefault(id(tensor), f"{own}.{path}")
                        if tensor.grad is not None:
                            found.setdefault(id(tensor.grad), f"gradient of {own}.{path}")
        return found

    def tensors(self) -> list[Any]:
        """All parameters and buffers, each once."""
        held = self._held.values()
        return [tensor for kind in ("parameters", "buffers") for tensor in _tensors(held, kind)]

    def named(self) -> dict[str, Any]:
        """What ``parts`` consists of, by name."""
        names = self.names()
        return {
            f"{kind} {names.get(id(tensor), number)}": tensor
            for kind in ("parameters", "buffers")
            for number, tensor in enumerate(_tensors(self._held.values(), kind))
        }

    def _changed(self, kind: str) -> list[Any]:
        tensors = _tensors(self._held.values(), kind)
        return [tensor for tensor in tensors if parts_of([tensor])[0] != self._began(tensor)]


def _children(network: Any) -> list[Any]:
    # it may have been left half made
    with contextlib.suppress(Exception):
        return [module for module in network.modules() if module is not network]
    return []


def _tensors(modules: Iterable[Any], kind: str) -> list[Any]:
    """Parameters or buffers of modules, each once."""
    tensors: dict[int, Any] = {}
    for module in modules:
        # it may have been left half made
        with contextlib.suppress(Exception):
            for tensor in getattr(module, kind)():
                tensors.setdefault(id(tensor), tensor)
    return [tensor for tensor in tensors.values() if readable(tensor)]

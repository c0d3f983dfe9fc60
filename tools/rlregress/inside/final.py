"""Records the networks at the end of a training, which no loss or optimiser step shows.

The recorder keeps a network until the event after the script has released it: a function's network
is gone when the function returns, which is how most scripts end. Parameters that a training never
changes are left out: a script may make a network and never use it.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections.abc import Collection, Iterable
from typing import Any

import torch

from rlregress.inside.events import Part, has_readable_numbers, make_part_of_many_arrays
from rlregress.probing.framework_errors import call_original


def _count_references_to_networks(networks: dict[int, Any]) -> dict[int, int]:
    return {key: sys.getrefcount(networks[key]) for key in networks}


#: the count of references to an object that only the table of networks holds.
_ALONE = _count_references_to_networks({0: object()})[0]


_KINDS = ("parameters", "buffers")
#: the garbage collector runs after each so many events.
_EVENTS_TO_COLLECT = 2000


class Networks:
    """All modules of torch that were created or copied and are still in use."""

    def __init__(self) -> None:
        #: identity -> module, in the order of creation.
        self._networks: dict[int, Any] = {}
        self._new: list[Any] = []
        #: identity -> a parameter or buffer, and the digest of its first values.
        self._initial: dict[int, tuple[Any, str]] = {}
        self._looks = 0

    def install(self, recorder: Any) -> None:
        """Note every module from now on."""
        # the collector frees networks in circles of references: it must run at the same event in
        # every recording, so ``note_new_and_forget_unused`` calls it
        if gc.isenabled():
            gc.disable()
            recorder.call_on_exit(gc.enable)
        # copied and unpickled modules are made by __setstate__, without __init__
        for name in ("__init__", "__setstate__"):
            recorder.patch_until_exit(
                torch.nn.Module, name, self._wrap_constructor(getattr(torch.nn.Module, name))
            )

    def _wrap_constructor(self, original: Any) -> Any:
        def initialize_and_note(module: Any, /, *arguments: Any, **options: Any) -> None:
            if id(module) not in self._networks:
                self._networks[id(module)] = module
                self._new.append(module)
            call_original(original, module, *arguments, **options)

        return initialize_and_note

    def note_new_and_forget_unused(self) -> None:
        """Note the first values of new networks; release networks that nothing else references."""
        new, self._new = self._new, []
        self._looks += 1
        if new or self._looks % _EVENTS_TO_COLLECT == 0:
            gc.collect()
        for tensor in _list_parameters_and_buffers(new):
            if self._get_initial_digest(tensor) is None:
                self._initial[id(tensor)] = (
                    weakref.ref(tensor),
                    make_part_of_many_arrays([tensor])[0],
                )
        new.clear()
        self._forget_unreferenced_networks()

    def _forget_unreferenced_networks(self) -> None:
        while True:
            dead = [
                key
                for key, count in _count_references_to_networks(self._networks).items()
                if count <= _ALONE
            ]
            if not dead:
                return
            # its layers are free in the next round
            for key in dead:
                del self._networks[key]

    def _get_initial_digest(self, tensor: Any) -> str | None:
        """Return the digest of a tensor's first values; None: none was noted."""
        reference, digest = self._initial.get(id(tensor), (lambda: None, ""))
        return digest if reference() is tensor else None

    def make_parts_of_changed_parameters_and_buffers(self) -> dict[str, Part]:
        """Return event parts of the parameters and buffers that the training changed, if any."""
        changed = {
            kind: [
                tensor
                for tensor in _list_tensors(self._networks.values(), kind)
                if make_part_of_many_arrays([tensor])[0] != self._get_initial_digest(tensor)
            ]
            for kind in _KINDS
        }
        if not any(changed.values()):
            return {}
        return {kind: make_part_of_many_arrays(tensors) for kind, tensors in changed.items()}

    def name_tensors_by_identity(self) -> dict[int, str]:
        """Return id of a parameter or buffer -> its name: class of its network, and path."""
        inner = {
            id(child) for root in self._networks.values() for child in _list_inner_modules(root)
        }
        by_tensor: dict[int, str] = {}
        counts: dict[str, int] = {}
        for key, network in self._networks.items():
            if key in inner:
                continue
            kind = type(network).__name__
            counts[kind] = counts.get(kind, 0) + 1
            network_name = kind if counts[kind] == 1 else f"{kind} {counts[kind]}"
            for tensors in _KINDS:
                with contextlib.suppress(Exception):
                    for path, tensor in getattr(network, f"named_{tensors}")():
                        by_tensor.setdefault(id(tensor), f"{network_name}.{path}")
                        if tensor.grad is not None:
                            by_tensor.setdefault(
                                id(tensor.grad), f"gradient of {network_name}.{path}"
                            )
        return by_tensor

    def list_tensors(self) -> list[Any]:
        """Return all parameters and buffers, each once."""
        return _list_parameters_and_buffers(self._networks.values())

    def map_tensors_by_name(self) -> dict[str, Any]:
        names = self.name_tensors_by_identity()
        return {
            f"{kind} {names.get(id(tensor), number)}": tensor
            for kind in _KINDS
            for number, tensor in enumerate(_list_tensors(self._networks.values(), kind))
        }


def _list_inner_modules(network: Any) -> list[Any]:
    # its constructor may have failed
    with contextlib.suppress(Exception):
        return [module for module in network.modules() if module is not network]
    return []


def _list_parameters_and_buffers(modules: Collection[Any]) -> list[Any]:
    return [tensor for kind in _KINDS for tensor in _list_tensors(modules, kind)]


def _list_tensors(modules: Iterable[Any], kind: str) -> list[Any]:
    """Return the parameters or buffers of modules, each once."""
    tensors: dict[int, Any] = {}
    for module in modules:
        # its constructor may have failed
        with contextlib.suppress(Exception):
            for tensor in getattr(module, kind)():
                tensors.setdefault(id(tensor), tensor)
    return [tensor for tensor in tensors.values() if has_readable_numbers(tensor)]

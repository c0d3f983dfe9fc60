"""The events of modules: the values that each call returns, with names, types and shapes.

A loss module is any module of the traced code whose call returns a mapping that holds a scalar
that requires a gradient. Other modules give events of another kind. If modules call one another,
only the outermost call is recorded.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch

from rlregress.inside.events import CALLERS, NumberedNames, has_readable_numbers, make_event_part
from rlregress.inside.replaced import compiling
from rlregress.probing.framework_errors import call_original


class RecordedModules:
    """Records the values that calls of loss modules and other modules return."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        # for each class once
        self._find_traced_forward: Callable[[type], list[Any] | None]
        self._find_traced_forward = functools.cache(self._search_traced_forward)
        self._names = NumberedNames()

    def install(self) -> None:
        """Record the calls of the modules of the traced code from now on."""
        # only torch's base class is changed: a script's own class may be pickled with its methods
        original, calls = torch.nn.Module.__call__, self._recorder.calls

        def call_and_record(module: Any, /, *arguments: Any, **options: Any) -> Any:
            # cheapest test first, as most calls are of layers within a recorded network
            if calls.modules or compiling() or self._find_traced_forward(type(module)) is None:
                return call_original(original, module, *arguments, **options)
            calls.modules += 1
            try:
                returned = call_original(original, module, *arguments, **options)
            finally:
                calls.modules -= 1
            self._add_module_event(module, returned)
            return returned

        self._recorder.patch_until_exit(torch.nn.Module, "__call__", call_and_record)

    def _search_traced_forward(self, kind: Any) -> list[Any] | None:
        """Return file, line and name of a class's forward; None: it is not in the traced code."""
        # a compiled module has no code of Python
        if issubclass(kind, torch.jit.ScriptModule):
            return None
        code: Any = getattr(inspect.unwrap(kind.forward), "__code__", None)
        file = (
            None if code is None else self._recorder.places.find_path_below_root(code.co_filename)
        )
        return None if file is None else [file, code.co_firstlineno, code.co_name]

    def _add_module_event(self, module: Any, output: Any) -> None:
        values = _list_numbers_in_output(output)
        if not values or not has_readable_numbers(list(values.values())):
            return
        is_loss = hasattr(output, "keys") and any(map(_is_loss, values.values()))
        kind = "loss" if is_loss else "module"
        if not self._recorder.is_recorded(kind):
            return
        caller = self._recorder.places.find_nearest_traced_place()
        above = [] if caller is None else [caller[:3], *caller[3]]
        at = [*(self._find_traced_forward(type(module)) or ["", 0, ""]), above[:CALLERS]]
        parts = {"values": make_event_part(values)}
        self._recorder.add_event(
            kind,
            self._names.name_object(module),
            parts,
            at,
            lambda: {f"values {key}": value for key, value in values.items()},
        )


def _list_numbers_in_output(output: Any) -> dict[str, Any]:
    """Return the tensors and numbers in a returned value, by key or by position."""
    if torch.is_tensor(output) or isinstance(output, (list, tuple)):
        rows = output if isinstance(output, (list, tuple)) else [output]
        return {str(n): row for n, row in enumerate(rows) if torch.is_tensor(row)}
    if not hasattr(output, "keys"):
        return {}
    try:
        return {str(k): v for k, v in output.items() if torch.is_tensor(v) or _is_number(v)}
    except Exception:
        # a recorder's failure must not end a training
        return {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def _is_loss(value: Any) -> bool:
    return torch.is_tensor(value) and value.requires_grad and value.numel() == 1

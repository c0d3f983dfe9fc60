"""Optimisers under a recorder: how many parameters, their values, gradient, rate, step taken."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np
import torch
from torch.optim import optimizer as module

from rlregress.inside.events import as_array, part, parts_of
from rlregress.inside.recorded_methods import hook_method
from rlregress.inside.replaced import Hook
from rlregress.probing.framework_errors import through


def install(recorder: Any) -> None:
    """Record every step of every optimiser, also of those that were made before."""
    steps = Steps(recorder)
    if hasattr(module, "register_optimizer_step_pre_hook"):
        for register, hook in (
            (module.register_optimizer_step_pre_hook, steps.before),
            (module.register_optimizer_step_post_hook, steps.after),
        ):
            recorder.on_exit(register(Hook(hook)).remove)
        return
    _install_on_classes(recorder, steps)


class Steps:
    """Records a step of an optimiser as one event, when it has ended."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._count = itertools.count()
        self._open: dict[int, tuple[Any, list[Any]]] = {}
        self._gradients: list[tuple[Any, Any]] = []

    def before(self, optimizer: Any, *_: Any) -> None:
        """Note the gradient and the parameters as they are."""
        trained = [p for group in optimizer.param_groups for p in group["params"]]
        before = [as_array(p).copy() for p in trained]
        rates = np.array([float(group.get("lr", 0.0)) for group in optimizer.param_groups])
        parts = {
            "size": part(np.array([len(before), sum(array.size for array in before)])),
            "parameters": parts_of(before, trained),
            "gradient": parts_of([p.grad for p in trained if p.grad is not None]),
            "learning_rate": part(rates),
        }
        self._open[id(optimizer)] = (parts, before)
        # of the event, if it gets names; the gradients may be gone when it is added
        self._gradients = [(p, p.grad) for p in trained]
        self._recorder.stepping = True

    def step(self, _: str, original: Any, optimizer: Any, *given: Any, **named: Any) -> Any:
        """Call a step, where torch has no hooks for it."""
        # a step that calls its parent's is one step
        if self._recorder.stepping:
            return through(original, optimizer, *given, **named)
        self.before(optimizer)
        try:
            return through(original, optimizer, *given, **named)
        finally:
            self.after(optimizer)

    def after(self, optimizer: Any, *_: Any) -> None:
        """Add the event."""
        self._recorder.stepping = False
        parts, before = self._open.pop(id(optimizer), ({}, []))
        after = [as_array(p) for group in optimizer.param_groups for p in group["params"]]
        if optimizer not in self._numbers:
            self._numbers[optimizer] = next(self._count)
        moved = [_difference(a, b) for a, b in zip(after, before, strict=False)]
        parts["update"] = parts_of(moved)
        name = f"{type(optimizer).__name__} {self._numbers[optimizer]}"

        def values() -> dict[str, Any]:
            names = self._recorder.names()
            found = {}
            for number, ((tensor, gradient), start, move) in enumerate(
                zip(self._gradients, before, moved, strict=False)
            ):
                own = names.get(id(tensor), f"parameter {number}")
                found[f"parameters {own}"] = start
                if gradient is not None:
                    found[f"gradient {own}"] = gradient
                found[f"update {own}"] = move
            return found

        self._recorder.add("optimizer", name, parts, self._recorder.places.nearest(2), values)


def _difference(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    # of a parameter that came to be in the step, all of it
    same = after.shape == before.shape and after.dtype == before.dtype and after.dtype != bool
    return np.asarray(after - before) if same else after


def _install_on_classes(recorder: Any, steps: Steps) -> None:
    """Before torch 2.0: replace ``step`` in every class, also in those that come later."""
    recorder.optimizer_step = steps.step

    def wrap(owner: Any) -> None:
        # in old versions the class itself replaces its step once, unless told that it was
        hook_method(recorder, owner, "step", "optimizer_step", "")

    def wrap_all(owner: Any) -> None:
        for kind in owner.__subclasses__():
            wrap(kind)
            wrap_all(kind)

    wrap_all(torch.optim.Optimizer)
    original_init = torch.optim.Optimizer.__init__

    def made(optimizer: Any, *arguments: Any, **options: Any) -> None:
        for kind in type(optimizer).__mro__:
            if kind is not torch.optim.Optimizer:
                wrap(kind)
        through(original_init, optimizer, *arguments, **options)

    recorder.replace(torch.optim.Optimizer, "__init__", made)

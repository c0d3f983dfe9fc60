"""The events of optimisers: parameters, gradients, learning rate and update of each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from rlregress.inside.events import (
    NumberedNames,
    convert_to_array,
    make_event_part,
    make_part_of_many_arrays,
)
from rlregress.inside.replaced import Hook


def record_optimizer_steps(recorder: Any) -> None:
    """Record every step of every optimiser, also of existing ones."""
    steps = OptimizerSteps(recorder)
    hook_optimizer_steps(steps.note_state_before_step, steps.add_step_event, recorder.call_on_exit)


def hook_optimizer_steps(
    before: Callable[..., None],
    after: Callable[..., None],
    on_exit: Callable[[Callable[[], None]], Any],
) -> None:
    """Call functions before and after every step of every optimiser.

    Args:
        on_exit: takes the functions that remove the hooks.
    """
    on_exit(register_optimizer_step_pre_hook(Hook(before)).remove)
    on_exit(register_optimizer_step_post_hook(Hook(after)).remove)


def list_parameters_of_optimizer(optimizer: Any) -> list[Any]:
    """Return the parameters of all groups."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


class OptimizerSteps:
    """Records each step of an optimiser as one event."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        self._names = NumberedNames()
        #: identity of an optimiser in its step -> parts of the event, and the parameters before it.
        self._open: dict[int, tuple[Any, list[Any]]] = {}
        self._gradients: list[tuple[Any, Any]] = []

    def note_state_before_step(self, optimizer: Any, *_: Any) -> None:
        trained = list_parameters_of_optimizer(optimizer)
        # copies: a step writes into the parameters
        before = [convert_to_array(p).copy() for p in trained]
        rates = np.array([float(group.get("lr", 0.0)) for group in optimizer.param_groups])
        parts = {
            "size": make_event_part(np.array([len(before), sum(array.size for array in before)])),
            "parameters": make_part_of_many_arrays(before, trained),
            "gradient": make_part_of_many_arrays([p.grad for p in trained if p.grad is not None]),
            "learning_rate": make_event_part(rates),
        }
        self._open[id(optimizer)] = (parts, before)
        # for the names of the event: the gradients may be gone when it is added
        self._gradients = [(p, p.grad) for p in trained]
        # until the step ends, writes and draws are part of it
        self._recorder.stepping = True

    def add_step_event(self, optimizer: Any, *_: Any) -> None:
        """Add the event of a step that has ended."""
        self._recorder.stepping = False
        parts, before = self._open.pop(id(optimizer), ({}, []))
        after = map(convert_to_array, list_parameters_of_optimizer(optimizer))
        updates = [_subtract_parameters(*pair) for pair in zip(after, before, strict=False)]
        parts["update"] = make_part_of_many_arrays(updates)

        def list_named_values() -> dict[str, Any]:
            names = self._recorder.name_tensors_by_identity()
            by_name = {}
            for number, ((tensor, gradient), start, update) in enumerate(
                zip(self._gradients, before, updates, strict=False)
            ):
                name = names.get(id(tensor), f"parameter {number}")
                by_name[f"parameters {name}"] = start
                if gradient is not None:
                    by_name[f"gradient {name}"] = gradient
                by_name[f"update {name}"] = update
            return by_name

        self._recorder.add_event(
            "optimizer",
            self._names.name_object(optimizer),
            parts,
            self._recorder.places.find_nearest_traced_place(),
            list_named_values,
        )


def _subtract_parameters(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    # a lazy parameter gets its shape in the step: all of it is new
    same = after.shape == before.shape and after.dtype == before.dtype and after.dtype != bool
    return np.asarray(after - before) if same else after

"""The recorder of a training: which hooks are in place, and the events that they hand in.

Hooks sit on torch, NumPy, gymnasium and the standard library, not on a framework. Runs inside
foreign and old environments: standard library, NumPy, torch, gymnasium, Python 3.9 syntax.
"""

from __future__ import annotations

import os
import random
import weakref
from typing import Any, Callable, Dict, List, Sequence

import numpy as np
import torch

from rlregress.tracing.events import Event, Places, as_array, joined, part, parts_of

_TORCH_DRAWS = (
    "rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like", "randint_like",
    "multinomial", "bernoulli",
)  # fmt: skip
_TENSOR_DRAWS = ("normal_", "uniform_", "bernoulli_", "exponential_", "random_")
_NUMPY_DRAWS = (
    "rand", "randn", "randint", "random", "random_sample", "permutation", "shuffle", "choice",
    "normal", "uniform",
)  # fmt: skip
_PYTHON_DRAWS = (
    "random", "randint", "randrange", "uniform", "choice", "choices", "sample", "shuffle",
)  # fmt: skip
_TENSOR_WRITES = ("copy_", "lerp_", "mul_", "add_")
_TORCH_WRITES = ("add", "lerp", "mul", "_foreach_lerp_", "_foreach_mul_", "_foreach_add_")
#: functions that make tensors of arrays: observations, minibatches, what was computed of a rollout.
_TORCH_DATA = ("tensor", "as_tensor", "from_numpy")


class Stop(BaseException):
    """Ends a traced script at the step that was asked for; no handler of a script eats it."""


class Recorder:
    """Collects events while its hooks are in place; use it as a context manager.

    Args:
        places: tells the traced code from all other.
        steps: environment steps after which ``Stop`` is raised; 0: never.

    Attributes:
        events: in order.
        seeded: what the tracer seeded because the script had not.
    """

    def __init__(self, places: Places, steps: int = 0) -> None:
        self.events: List[Event] = []
        self.seeded: List[str] = []
        self.places = places
        #: inside a function that is recorded as a whole.
        self.inside = False
        #: inside a step of an optimiser.
        self.stepping = False
        self._steps_left = steps
        self._undo: List[Callable[[], None]] = []
        self._parameters: Dict[int, Any] = {}
        self._new: List[Any] = []
        self._process = os.getpid()

    # -- events ------------------------------------------------------------------------------

    def add(self, kind: str, name: str, parts: Dict[str, Any], at: Any) -> None:
        """Append an event; ``at`` is None outside of the traced code."""
        # a forked worker has hooks, too, and nobody who reads its events
        if os.getpid() == self._process:
            self.events.append({"kind": kind, "name": name, "at": at, "parts": parts})

    def draw(self, name: str, value: Any) -> None:
        """A random draw of the traced code."""
        at = self.places.nearest(3)
        if at is not None and not self.stepping:
            self.add("draw", name, {"value": part(value)}, at)

    def write(self, name: str, tensor: Any) -> None:
        """A tensor written in place without a gradient: target networks, buffers, gradients."""
        if self.stepping or not torch.is_tensor(tensor) or not tensor.is_floating_point():
            return
        if torch.is_grad_enabled() and tensor.requires_grad:
            return
        at = self.places.nearest(3)
        if at is not None:
            # writes of one function to tensor after tensor are one event: an update of a network
            self._append_to_last("write", name, tensor, at, lambda place: (place[0], place[2]))

    def data(self, array: Any) -> None:
        """An array that becomes a tensor."""
        at = self.places.nearest(3)
        if at is not None and not self.stepping:
            # arrays of one line are one event: the fields of a minibatch
            self._append_to_last("data", "array", array, at, lambda place: place[:3])

    def _append_to_last(self, kind: str, name: str, value: Any, at: Any, same: Any) -> None:
        last = self.events[-1] if self.events else None
        found = part(value)
        if last is not None and last["kind"] == kind and same(last["at"]) == same(at):
            last["parts"]["value"] = joined([last["parts"]["value"], found])
            return
        self.add(kind, name, {"value": found}, at)

    def new_parameters(self) -> None:
        """An event with all parameters registered since the last one: how networks begin."""
        alive = [p for p in (reference() for reference in self._new) if p is not None]
        self._new.clear()
        arrays = [as_array(p) for p in alive if torch.is_tensor(p) and p.device.type != "meta"]
        if arrays:
            self.add("parameters", "initial", {"value": parts_of(arrays)}, self.places.nearest(2))

    def step_taken(self) -> None:
        """One step of an environment has been recorded."""
        if self._steps_left and os.getpid() == self._process:
            self._steps_left -= 1
            if not self._steps_left:
                raise Stop

    def unseeded(self, what: str) -> None:
        """Note that the tracer seeded something."""
        if what not in self.seeded:
            self.seeded.append(what)

    # -- hooks -------------------------------------------------------------------------------

    def replace(self, owner: Any, name: str, new: Any) -> None:
        """Set an attribute until the recorder is left."""
        missing = object()
        own = vars(owner).get(name, missing) if hasattr(owner, "__dict__") else missing

        def undo() -> None:
            if own is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

        setattr(owner, name, new)
        self._undo.append(undo)

    def on_exit(self, undo: Callable[[], None]) -> None:
        """Call this when the recorder is left; the last one first."""
        self._undo.append(undo)

    def __enter__(self) -> Recorder:
        from rlregress.tracing import environments, optimizers, seeds

        try:
            self._hook_functions()
            self._hook_backward()
            self._hook_parameters()
            optimizers.install(self)
            seeds.install(self)
            environments.install(self)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        while self._undo:
            self._undo.pop()()

    def _hook_functions(self) -> None:
        for owner, names, label in (
            (torch, _TORCH_DRAWS, "torch"),
            (torch.Tensor, _TENSOR_DRAWS, "Tensor"),
            (np.random, _NUMPY_DRAWS, "numpy.random"),
            (random, _PYTHON_DRAWS, "random"),
        ):
            for name in names:
                # what is shuffled is the argument
                first = name == "shuffle"
                self._wrap(owner, name, self.draw, f"{label}.{name}", argument=first)
        for name in _TENSOR_WRITES:
            self._wrap(torch.Tensor, name, self.write, f"Tensor.{name}")
        for name in _TORCH_WRITES:
            if hasattr(torch, name):
                self._wrap_writing(name)
        for name in _TORCH_DATA:
            self._wrap_data(name)

    def _wrap(self, owner: Any, name: str, note: Any, label: str, argument: bool = False) -> None:
        original = getattr(owner, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            if self.inside:
                return original(*arguments, **options)
            self.inside = True
            try:
                value = original(*arguments, **options)
                note(label, arguments[0] if argument and arguments else value)
            finally:
                self.inside = False
            return value

        self.replace(owner, name, wrapped)

    def _wrap_writing(self, name: str) -> None:
        """Functions that write only where they are told to: ``out=``, or into a list."""
        original = getattr(torch, name)
        in_place = name.endswith("_")

        def wrapped(*arguments: Any, **options: Any) -> Any:
            value = original(*arguments, **options)
            target = arguments[0] if in_place and arguments else options.get("out")
            if target is None or self.inside:
                return value
            self.inside = True
            try:
                for tensor in target if isinstance(target, (list, tuple)) else [target]:
                    self.write(f"torch.{name}", tensor)
            finally:
                self.inside = False
            return value

        self.replace(torch, name, wrapped)

    def _wrap_data(self, name: str) -> None:
        original = getattr(torch, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            given = arguments[0] if arguments else None
            if self.inside or not isinstance(given, np.ndarray) or given.size < 2:
                return original(*arguments, **options)
            self.inside = True
            try:
                self.data(given)
                return original(*arguments, **options)
            finally:
                self.inside = False

        self.replace(torch, name, wrapped)

    def _hook_backward(self) -> None:
        original_method, original = torch.Tensor.backward, torch.autograd.backward

        def method(tensor: Any, *arguments: Any, **options: Any) -> Any:
            self._backward([tensor])
            self.inside, before = True, self.inside
            try:
                return original_method(tensor, *arguments, **options)
            finally:
                self.inside = before

        def function(tensors: Any, *arguments: Any, **options: Any) -> Any:
            if not self.inside:
                self._backward([tensors] if torch.is_tensor(tensors) else list(tensors))
            return original(tensors, *arguments, **options)

        self.replace(torch.Tensor, "backward", method)
        self.replace(torch.autograd, "backward", function)

    def _backward(self, tensors: Sequence[Any]) -> None:
        self.new_parameters()
        value = part(tensors[0] if len(tensors) == 1 else list(tensors))
        self.add("backward", "loss", {"loss": value}, self.places.nearest(3))

    def _hook_parameters(self) -> None:
        module = torch.nn.modules.module
        register = getattr(module, "register_module_parameter_registration_hook", None)
        if register is None:
            # before torch 2.0: the first step of each optimiser tells how its parameters began
            return

        def registered(_: Any, __: str, parameter: Any) -> None:
            known = self._parameters.get(id(parameter))
            # functional calls register the same parameters over and over
            if parameter is not None and (known is None or known() is not parameter):
                self._parameters[id(parameter)] = weakref.ref(parameter)
                self._new.append(self._parameters[id(parameter)])

        self.on_exit(register(registered).remove)

"""Hooks on torch, NumPy, gymnasium and the standard library, not on a framework.

Runs inside foreign and old environments: standard library, NumPy, torch, gymnasium, Python 3.9.
"""

from __future__ import annotations

import random
import weakref
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np
import torch

from rlregress.tracing.events import Event, Places, as_array, part, parts_of

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
    "random",
    "randint",
    "randrange",
    "uniform",
    "choice",
    "choices",
    "sample",
    "shuffle",
)
_TENSOR_WRITES = ("copy_", "lerp_", "mul_", "add_")
_TORCH_WRITES = ("add", "lerp", "mul", "_foreach_lerp_", "_foreach_mul_", "_foreach_add_")


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
        self._places = places
        self._steps_left = steps
        self._undo: List[Callable[[], None]] = []
        self._inside = False
        self._stepping: Dict[int, Tuple[Any, Any]] = {}
        self._optimizers: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()
        self._parameters: List[Any] = []
        self._environments = 0

    # -- events ------------------------------------------------------------------------------

    def add(self, kind: str, name: str, parts: Dict[str, Any], at: Any) -> None:
        """Append an event; ``at`` is None outside of the traced code."""
        self.events.append({"kind": kind, "name": name, "at": at, "parts": parts})

    def _draw(self, name: str, value: Any) -> None:
        at = self._places.nearest(3)
        if at is not None and not self._stepping:
            self.add("draw", name, {"value": part(value)}, at)

    def _write(self, name: str, tensor: Any) -> None:
        if self._stepping or not torch.is_tensor(tensor) or not tensor.is_floating_point():
            return
        if torch.is_grad_enabled() and tensor.requires_grad:
            return
        at = self._places.nearest(3)
        if at is None:
            return
        last = self.events[-1] if self.events else None
        found = part(tensor)
        # writes of one function to tensor after tensor are one event: an update of a network
        if last is not None and last["kind"] == "write" and last["at"][::2] == at[::2]:
            before = last["parts"]["value"]
            joined = [before, found]
            last["parts"]["value"] = _chained(joined)
            last["count"] = last.get("count", 1) + 1
            return
        self.add("write", name, {"value": found}, at)

    def new_parameters(self) -> None:
        """An event with all parameters registered since the last one: how networks begin."""
        alive = [p for p in (reference() for reference in self._parameters) if p is not None]
        self._parameters.clear()
        if alive:
            arrays = [as_array(p) for p in alive if torch.is_tensor(p) and p.device.type != "meta"]
            self.add("parameters", "initial", {"value": parts_of(arrays)}, self._places.nearest(2))

    def step_taken(self) -> None:
        """One step of an environment has been recorded."""
        if self._steps_left:
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

    def __enter__(self) -> Recorder:
        from rlregress.tracing import environments

        for name in _TORCH_DRAWS:
            self._wrap(torch, name, self._draw, f"torch.{name}")
        for name in _TENSOR_DRAWS:
            self._wrap(torch.Tensor, name, self._draw, f"Tensor.{name}")
        for name in _NUMPY_DRAWS:
            self._wrap(
                np.random, name, self._draw, f"numpy.random.{name}", argument=name == "shuffle"
            )
        for name in _PYTHON_DRAWS:
            self._wrap(random, name, self._draw, f"random.{name}", argument=name == "shuffle")
        for name in _TENSOR_WRITES:
            self._wrap(torch.Tensor, name, self._write, f"Tensor.{name}")
        for name in _TORCH_WRITES:
            if hasattr(torch, name):
                self._wrap_writing(name)
        self._hook_backward()
        self._hook_optimizers()
        self._hook_parameters()
        self._hook_seeds()
        environments.install(self)
        return self

    def __exit__(self, *_: Any) -> None:
        while self._undo:
            self._undo.pop()()

    def _wrap(self, owner: Any, name: str, note: Any, label: str, argument: bool = False) -> None:
        original = getattr(owner, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            if self._inside:
                return original(*arguments, **options)
            self._inside = True
            try:
                value = original(*arguments, **options)
                note(label, arguments[0] if argument else value)
            finally:
                self._inside = False
            return value

        self.replace(owner, name, wrapped)

    def _wrap_writing(self, name: str) -> None:
        """Functions that write only where they are told to: ``out=``, or into a list."""
        original = getattr(torch, name)
        in_place = name.endswith("_")

        def wrapped(*arguments: Any, **options: Any) -> Any:
            value = original(*arguments, **options)
            target = arguments[0] if in_place and arguments else options.get("out")
            if target is None or self._inside:
                return value
            self._inside = True
            try:
                for tensor in target if isinstance(target, (list, tuple)) else [target]:
                    self._write(f"torch.{name}", tensor)
            finally:
                self._inside = False
            return value

        self.replace(torch, name, wrapped)

    def _hook_backward(self) -> None:
        original_method, original = torch.Tensor.backward, torch.autograd.backward

        def method(tensor: Any, *arguments: Any, **options: Any) -> Any:
            self._backward([tensor])
            self._inside, before = True, self._inside
            try:
                return original_method(tensor, *arguments, **options)
            finally:
                self._inside = before

        def function(tensors: Any, *arguments: Any, **options: Any) -> Any:
            if not self._inside:
                self._backward([tensors] if torch.is_tensor(tensors) else list(tensors))
            return original(tensors, *arguments, **options)

        self.replace(torch.Tensor, "backward", method)
        self.replace(torch.autograd, "backward", function)

    def _backward(self, tensors: Sequence[Any]) -> None:
        self.new_parameters()
        value = part(tensors[0] if len(tensors) == 1 else list(tensors))
        self.add("backward", "loss", {"loss": value}, self._places.nearest(3))

    def _hook_optimizers(self) -> None:
        from torch.optim import optimizer as module

        if hasattr(module, "register_optimizer_step_pre_hook"):
            for register, hook in (
                (module.register_optimizer_step_pre_hook, self._before_step),
                (module.register_optimizer_step_post_hook, self._after_step),
            ):
                self._undo.append(register(hook).remove)
            return
        original = torch.optim.Optimizer.__init__

        def made(optimizer: Any, *arguments: Any, **options: Any) -> None:
            original(optimizer, *arguments, **options)
            step = optimizer.step

            def stepping(*given: Any, **named: Any) -> Any:
                self._before_step(optimizer, given, named)
                result = step(*given, **named)
                self._after_step(optimizer, given, named)
                return result

            optimizer.step = stepping

        self.replace(torch.optim.Optimizer, "__init__", made)

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        trained = [p for group in optimizer.param_groups for p in group["params"]]
        gradients = [as_array(p.grad) for p in trained if p.grad is not None]
        before = [as_array(p).copy() for p in trained]
        rates = part([float(group.get("lr", 0.0)) for group in optimizer.param_groups])
        self._stepping[id(optimizer)] = (
            {
                "parameters": parts_of(before),
                "gradient": parts_of(gradients),
                "learning_rate": rates,
            },
            before,
        )

    def _after_step(self, optimizer: Any, *_: Any) -> None:
        parts, before = self._stepping.pop(id(optimizer), ({}, []))
        after = [as_array(p) for group in optimizer.param_groups for p in group["params"]]
        number = self._optimizers.setdefault(optimizer, len(self._optimizers))
        moved = [a.astype(np.float64) - b for a, b in zip(after, before)]
        parts["update"] = parts_of(moved)
        name = f"{type(optimizer).__name__} {number}"
        self.add("optimizer", name, parts, self._places.nearest(2))

    def _hook_parameters(self) -> None:
        module = torch.nn.modules.module
        register = getattr(module, "register_module_parameter_registration_hook", None)
        if register is None:
            return

        def registered(_: Any, __: str, parameter: Any) -> None:
            if parameter is not None:
                self._parameters.append(weakref.ref(parameter))

        self._undo.append(register(registered).remove)

    def _hook_seeds(self) -> None:
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        left = {"torch's generator", "NumPy's generator", "Python's generator"}
        self.seeded.extend(sorted(left))
        for owner, name, what in (
            (torch, "manual_seed", "torch's generator"),
            (np.random, "seed", "NumPy's generator"),
            (random, "seed", "Python's generator"),
        ):
            original = getattr(owner, name)

            def seeding(
                *arguments: Any, _original: Any = original, _what: str = what, **options: Any
            ) -> Any:
                if (arguments and arguments[0] is not None) and _what in self.seeded:
                    self.seeded.remove(_what)
                return _original(*arguments, **options)

            self.replace(owner, name, seeding)
        make = np.random.default_rng

        def default_rng(seed: Any = None) -> Any:
            if seed is None:
                self.unseeded("generators made by numpy.random.default_rng()")
                seed = 0
            return make(seed)

        self.replace(np.random, "default_rng", default_rng)


def _chained(parts: Sequence[Any]) -> Any:
    """One part of a sequence of parts: digests joined, norms added in squares."""
    import hashlib

    digest = hashlib.blake2b("".join(p[0] for p in parts).encode(), digest_size=8).hexdigest()
    norms = [p[1] for p in parts if isinstance(p[1], float)]
    return [digest, sum(n * n for n in norms) ** 0.5, parts[0][2]]

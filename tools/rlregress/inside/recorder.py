"""The recorder of a training: which hooks are in place, and the events that they hand in.

Hooks sit on torch, NumPy, gymnasium and the standard library, not on a framework. Runs inside
foreign and old environments: standard library, NumPy, torch, gymnasium, Python 3.10 syntax.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import itertools
import os
import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from rlregress.inside import final, leaves
from rlregress.inside.events import (
    RAISED,
    Event,
    Places,
    in_words,
    joined,
    part,
    parts_of,
    readable,
    types_of,
)
from rlregress.inside.other_threads import Elsewhere
from rlregress.inside.recorded_environments import Environments
from rlregress.inside.recorded_losses import Losses
from rlregress.inside.recorded_methods import (
    GYMNASIUM,
    LOGGED,
    Depth,
    Importing,
    RecordedMethods,
    named_output,
)
from rlregress.inside.replaced import Hook, compiling, stand_in
from rlregress.probing.framework_errors import ExpectedError, through
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_variants import Lacking, refused

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
#: names that one event gets.
_NAMED = 1000
#: times that a script may eat ``Stop``; after them it runs to its own end, unrecorded.
_EATEN = 1000


#: kinds of events by which trainings are compared that need not have the same events.
_TELLING = ("reset", "step", "loss", "backward", "optimizer", "output", "log")


#: the recorder whose hooks are in place.
CURRENT: Recorder | None = None


class Stop(BaseException):
    """Ends a traced script at the step that was asked for; no handler of a script eats it."""


class _Calls(threading.local):
    """What a thread is in."""

    inside = False


class Recorder:
    """Collects events while its hooks are in place; use it as a context manager.

    Args:
        places: tells the traced code from all other.
        steps: environment steps after which ``Stop`` is raised; 0: never.
        quiet: seed what is to be seeded, and note nothing.
        named: numbers of events, from 0, that get the entries, parameters or gradients that they
            consist of, by name.
        moved: number of the event whose numbers are moved by one unit in the last place when it has
            been recorded, and a seed of the directions.

    Attributes:
        events: in order.
        seeds: the first seed that the script gives to each generator.
        seeded: what the tracer seeded because the script had not.
        steps_left: environment steps until ``Stop``; 0: never.
        environment_events: how many resets and steps of environments there were.
    """

    def __init__(
        self,
        places: Places,
        steps: int = 0,
        quiet: bool = False,
        named: Sequence[int] = (),
        moved: tuple[int, int] | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.seeds: dict[str, str] = {}
        self.seeded: list[str] = []
        self.places = places
        self._calls = _Calls()
        #: inside a step of an optimiser.
        self.stepping = False
        #: nothing is recorded any more.
        self.over = False
        self.quiet = quiet
        self._named = frozenset(named)
        self._moved = moved
        self.steps_left = steps
        self._stopped = False
        self._eaten = 0
        self.environment_events = 0
        depth = Depth()
        self._environments = Environments(self, depth)
        self._recorded_methods = RecordedMethods(self, depth, self._environments)
        self._losses = Losses(self)
        recorded, logged, instead = named_by_adapters()
        self._names, self._logged = (*GYMNASIUM, *recorded), (*LOGGED, *logged)
        self._elsewhere = Elsewhere(self, instead)
        self._networks = final.Networks()
        # what replaced methods call
        self.environment_reset = self._environments.reset
        self.environment_step = self._environments.step
        self.environment_seed = self._environments.seed
        self.recorded_call = self._recorded_methods.call
        self.logged_call = self._recorded_methods.log
        self.optimizer_step: Any = None
        self._undo: list[Callable[[], None]] = []
        #: by identity, what was replaced and what stands in its place.
        self._replaced: dict[int, tuple[Any, Any]] = {}
        self._parameters: dict[int, Any] = {}
        self._new: list[Any] = []
        self._process = os.getpid()

    # -- events ------------------------------------------------------------------------------

    def add(self, kind: str, name: str, parts: dict[str, Any], at: Any, values: Any = None) -> None:
        """Append an event; ``at`` is None outside of the traced code.

        Args:
            values: gives what the event consists of, by the name of its part and of its own.
        """
        # a forked worker has hooks, too, and nobody who reads its events
        if os.getpid() != self._process or self.over or self.quiet:
            return
        self._elsewhere.look()
        self.events.append({"kind": kind, "name": name, "at": at, "parts": parts})
        self._name(values)
        if self._moved is not None and len(self.events) - 1 == self._moved[0]:
            self._move(values)
        # not while a network is being made: with draws and writes
        if kind in ("reset", "step", "backward", "optimizer"):
            self._networks.look()

    def _name(self, values: Any) -> None:
        """Give the last event what it consists of by name, if it is one of those that get it."""
        if len(self.events) - 1 in self._named and values is not None:
            found = self.events[-1].setdefault("named", {})
            for name, array in itertools.islice(values().items(), _NAMED):
                # a tensor may be written more than once
                found[name if name not in found else f"{name} (again)"] = part(array)

    def _move(self, values: Any) -> None:
        """Move what the last event consists of, and the networks, by one unit in the last place."""
        assert self._moved is not None
        draw = np.random.Generator(np.random.PCG64(self._moved[1]))
        every = list(values().values()) if values is not None else []
        for value in [*every, *self._networks.tensors()]:
            moved = leaves.one_unit(value, draw)
            if moved is None:
                continue
            # of what may not be written, others hold copies
            with contextlib.suppress(ValueError, RuntimeError):
                if isinstance(value, np.ndarray):
                    value[...] = moved
                else:
                    value.detach().copy_(moved)

    def names(self) -> dict[int, str]:
        """Parameter or buffer, by identity -> its name in a network that is still in use."""
        return self._networks.names()

    def answer(self, name: str, value: Any) -> None:
        """What a training shows itself; of an error where it was raised, and no value."""
        if not isinstance(value, ExpectedError):
            # all of it: what is no array tells as much here
            self.add("output", name, {"value": part(value)}, None, lambda: named_output(value))
            return
        parts = {"value": in_words(value, RAISED)}
        self.add("output", name, parts, ["", 0, "", self.places.of(value.frames)])

    def answer_with_events(self, runs: Iterable[tuple[str, Callable[[], Any]]]) -> None:
        """Run trainings that a version may lack; the events of each are one answer of each kind.

        Raises:
            Unsupported: the version lacks all of them.
        """
        lacking, moved = True, self._moved
        for name, run in runs:
            # the numbers of events are those of answers
            first, self._moved = len(self.events), None
            answer = refused(run)
            own, self.events[first:], self._moved = self.events[first:], [], moved
            if isinstance(answer, Lacking):
                continue
            lacking = False
            for kind in _TELLING:
                of_kind = [event for event in own if event["kind"] == kind]
                parts = [each for event in of_kind for each in event["parts"].values()]
                if parts:
                    self.add("output", f"{name}: {kind}", {"value": joined(parts)}, None)
            self.answer(name, answer)
        if lacking:
            raise Unsupported("this version has none of these trainings")

    def end(self) -> None:
        """The last event: the networks as the training leaves them."""
        parts = self._networks.parts()
        if parts:
            self.add("final", "networks", parts, None, self._networks.named)
        self.over = True

    @property
    def inside(self) -> bool:
        """Whether this thread is in a function that is recorded as a whole."""
        return self._calls.inside

    @inside.setter
    def inside(self, inside: bool) -> None:
        self._calls.inside = inside

    @property
    def elsewhere(self) -> list[dict[str, Any]]:
        """What was done in other threads and processes, and who started them."""
        return self._elsewhere.found

    def draw(self, name: str, value: Any) -> None:
        """A random draw of the traced code."""
        at = self.places.nearest(3)
        if at is not None and not self.stepping and readable(value):
            self.add("draw", name, {"value": part(value)}, at)

    def write(self, name: str, tensor: Any) -> None:
        """A tensor written in place without a gradient: target networks, buffers, gradients."""
        if self.stepping or not torch.is_tensor(tensor) or not readable(tensor):
            return
        if torch.is_grad_enabled() and tensor.requires_grad:
            return
        at = self.places.nearest(3)
        if at is not None:
            # writes of one function to tensor after tensor are one event: an update of a network
            self._append_to_last("write", name, tensor, at, lambda place: (place[0], place[2]))

    def data(self, array: Any) -> None:
        """An array, or a list, that becomes a tensor."""
        at = self.places.nearest(3)
        if at is not None and not self.stepping:
            # arrays of one line are one event: the fields of a minibatch
            self._append_to_last("data", "array", array, at, lambda place: place[:3])

    def _append_to_last(self, kind: str, name: str, value: Any, at: Any, same: Any) -> None:
        last = self.events[-1] if self.events else None
        added = part(value)

        def values() -> dict[str, Any]:
            return {f"value {self.names().get(id(value), types_of(value))}": value}

        if last is not None and last["kind"] == kind and same(last["at"]) == same(at):
            last["parts"]["value"] = joined([last["parts"]["value"], added])
            self._name(values)
            return
        self.add(kind, name, {"value": added}, at, values)

    def new_parameters(self) -> None:
        """An event with all parameters registered since the last one: how networks begin."""
        alive = [p for p in (reference() for reference in self._new) if p is not None]
        self._new.clear()
        tensors = [p for p in alive if torch.is_tensor(p) and readable(p)]
        if tensors:
            parts = {"value": parts_of(tensors)}

            def values() -> dict[str, Any]:
                names = self.names()
                return {f"value {names.get(id(p), number)}": p for number, p in enumerate(alive)}

            self.add("parameters", "initial", parts, self.places.nearest(2), values)

    def wrap_environment(self, environment: Any) -> Any:
        """Record an environment, of whatever class."""
        for kind in type(environment).__mro__:
            self._environments.hook(kind)
        return environment

    def step_taken(self) -> None:
        """One step of an environment has been recorded."""
        if self.steps_left and os.getpid() == self._process:
            self.steps_left -= 1
            if not self.steps_left:
                self.end()
                self._stopped = True
                raise Stop

    def stop(self) -> None:
        """End the training here, or at the next step of an environment if there are any."""
        if self.environment_events and self.steps_left != 1 and not self._stopped:
            self.steps_left = 1
            return
        self.over = self._stopped = True
        raise Stop

    def check(self) -> None:
        """Raise ``Stop`` again in a script that has eaten it and goes on."""
        # some loops count only the steps that succeed: they would never end
        if self._stopped and os.getpid() == self._process and self._eaten < _EATEN:
            self._eaten += 1
            raise Stop

    def unseeded(self, what: str) -> None:
        """Note that the tracer seeded something."""
        if what not in self.seeded:
            self.seeded.append(what)

    # -- hooks -------------------------------------------------------------------------------

    def replace(self, owner: Any, name: str, new: Any) -> Any:
        """Set an attribute until the recorder is left; what stands there now.

        Not ``unittest.mock``: ``rebind`` has to find what stands in for a function, which is named
        as the function for pickling, and all hooks are undone in one order.
        """
        missing = object()
        own = vars(owner).get(name, missing) if hasattr(owner, "__dict__") else missing

        def undo() -> None:
            if own is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

        if inspect.isfunction(new):
            new = stand_in(owner, name, getattr(owner, name, None), new)
        if own is not missing and inspect.isroutine(own):
            self._replaced[id(own)] = (own, new)
        setattr(owner, name, new)
        self._undo.append(undo)
        return new

    def rebind(self) -> None:
        """Replace what modules of the traced code have imported by name before the recorder."""
        for module in list(sys.modules.values()):
            if self.places.name(str(getattr(module, "__file__", None) or "")) is None:
                continue
            for name, value in list(vars(module).items()):
                known, new = self._replaced.get(id(value), (None, None))
                if known is value and known is not None:
                    setattr(module, name, new)
                    self._undo.append(functools.partial(setattr, module, name, known))

    def on_exit(self, undo: Callable[[], None]) -> None:
        """Call this when the recorder is left; the last one first."""
        self._undo.append(undo)

    def __enter__(self) -> Recorder:
        global CURRENT
        from rlregress.inside import optimizers, seeds

        _remember_constructors()
        try:
            if not self.quiet:
                self._hook_functions()
                self._hook_backward()
                self._hook_parameters()
                self._networks.install(self)
                self._losses.install()
                optimizers.install(self)
            seeds.install(self)
            self._elsewhere.install()
            self._hook_environments()
            CURRENT = self
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        global CURRENT
        self.end()
        CURRENT = None
        while self._undo:
            self._undo.pop()()

    def _hook_environments(self) -> None:
        importing = Importing()
        sys.meta_path.insert(0, importing)
        self.on_exit(lambda: sys.meta_path.remove(importing))
        self._environments.install(importing)
        # of many environments in others' processes only the first reset is given a seed
        names = [name for name in GYMNASIUM if name.endswith(".reset")]
        self._recorded_methods.install(importing, names if self.quiet else self._names)
        if not self.quiet:
            self._recorded_methods.install(importing, self._logged, "logged_call")

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
            if compiling() or self.inside:
                return through(original, *arguments, **options)
            self.inside = True
            try:
                value = through(original, *arguments, **options)
                note(label, arguments[0] if argument and arguments else value)
            finally:
                self.inside = False
            return value

        self.register_with_jit(original, self.replace(owner, name, wrapped))

    def register_with_jit(self, original: Any, wrapped: Any) -> None:
        """Let functions that are compiled by torch.jit mean the original."""
        from torch.jit import _builtins as jit

        operator = jit._find_builtin(original)
        if operator is not None:
            jit._register_builtin(wrapped, operator)
            self.on_exit(lambda: jit._get_builtin_table().pop(id(wrapped), None))

    def _wrap_writing(self, name: str) -> None:
        """Functions that write only where they are told to: ``out=``, or into a list."""
        original = getattr(torch, name)
        in_place = name.endswith("_")

        def wrapped(*arguments: Any, **options: Any) -> Any:
            value = through(original, *arguments, **options)
            if compiling() or self.inside:
                return value
            target = arguments[0] if in_place and arguments else options.get("out")
            if target is None:
                return value
            self.inside = True
            try:
                for tensor in target if isinstance(target, (list, tuple)) else [target]:
                    self.write(f"torch.{name}", tensor)
            finally:
                self.inside = False
            return value

        self.register_with_jit(original, self.replace(torch, name, wrapped))

    def _wrap_data(self, name: str) -> None:
        original = getattr(torch, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            if compiling():
                return through(original, *arguments, **options)
            given = arguments[0] if arguments else None
            if self.inside or not _is_data(given):
                return through(original, *arguments, **options)
            self.inside = True
            try:
                self.data(given)
                return through(original, *arguments, **options)
            finally:
                self.inside = False

        self.register_with_jit(original, self.replace(torch, name, wrapped))

    def _hook_backward(self) -> None:
        for owner, name, label in (
            (torch.Tensor, "backward", "loss"),
            (torch.autograd, "backward", "loss"),
            (torch.autograd, "grad", "grad"),
        ):
            self._wrap_backward(owner, name, label)

    def _wrap_backward(self, owner: Any, name: str, label: str) -> None:
        original = getattr(owner, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            if compiling() or self.inside:
                return through(original, *arguments, **options)
            given = options.get("outputs", options.get("tensors"))
            self._backward(label, arguments[0] if arguments else given)
            self.inside = True
            try:
                return through(original, *arguments, **options)
            finally:
                self.inside = False

        self.replace(owner, name, wrapped)

    def _backward(self, name: str, tensors: Any) -> None:
        if not readable(tensors):
            return
        self.new_parameters()
        alone = isinstance(tensors, (list, tuple)) and len(tensors) == 1
        value = part(tensors[0] if alone else tensors)
        self.add("backward", name, {"loss": value}, self.places.nearest(3))

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

        self.on_exit(register(Hook(registered)).remove)


def _is_data(value: Any) -> bool:
    """Whether it holds several numbers that are no tensor yet."""
    if isinstance(value, np.ndarray):
        return value.size > 1
    return isinstance(value, (list, tuple)) and len(value) > 1 and readable(value)


def named_by_adapters() -> tuple[list[str], list[str], dict[str, str]]:
    """What all known adapters name: methods to watch, those that log, what runs in one process."""
    from rlregress import frameworks

    recorded: list[str] = []
    logged: list[str] = []
    instead: dict[str, str] = {}
    for name in frameworks.names():
        # an adapter of others that is broken is no reason not to record
        with contextlib.suppress(Exception):
            adapter = frameworks.get(name)
            recorded.extend(adapter.framework.recorded_methods)
            logged.extend(adapter.framework.logged)
            instead.update(adapter.framework.in_one_process)
    return recorded, logged, instead


def _remember_constructors() -> None:
    """Let torch note which functions obey its default device before they are replaced."""
    # torch imports it on demand
    if importlib.util.find_spec("torch.utils._device") is not None:
        module = importlib.import_module("torch.utils._device")
        getattr(module, "_device_constructors", list)()

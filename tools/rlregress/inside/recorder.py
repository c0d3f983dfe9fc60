"""The recorder of a training: the one stream of events, and the hooks that feed it.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.jit import _builtins as jit

from rlregress.inside import final, leaves
from rlregress.inside.events import (
    RAISED,
    Event,
    Places,
    describe_types,
    has_readable_numbers,
    join_event_parts,
    make_event_part,
    make_part_of_many_arrays,
    make_part_of_text,
)
from rlregress.inside.other_threads import OtherActivity
from rlregress.inside.recorded_environments import Environments
from rlregress.inside.recorded_losses import RecordedModules
from rlregress.inside.recorded_methods import (
    GYMNASIUM,
    LOGGED,
    Depth,
    ImportListener,
    RecordedMethods,
    name_leaves_of_result,
)
from rlregress.inside.replaced import Hook, compiling, make_replacement
from rlregress.probing.framework_errors import ExpectedError, call_original
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_variants import Lacking, call_or_return_error

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
#: functions that turn arrays, such as observations and minibatches, into tensors.
_TORCH_DATA = ("tensor", "as_tensor", "from_numpy")
#: at most so many values of one event are recorded by name.
_MOST_NAMES = 1000
#: how often a script may catch ``Stop`` before it is let run to its own end, unrecorded.
_MOST_CATCHES = 1000


#: kinds of events that are kept where only results are compared, not every event.
_TELLING = ("reset", "step", "loss", "backward", "optimizer", "output", "log")


#: the recorder whose hooks are in place.
CURRENT: Recorder | None = None


class Stop(BaseException):
    """Ends a traced script after its last recorded step; ``except Exception`` lets it pass."""


class _Calls(threading.local):
    """The nested calls of the current thread.

    Attributes:
        inside: whether the thread is in a function that, with all its calls, is one event.
        modules: depth of the calls of recorded modules.
    """

    inside = False
    modules = 0


class Recorder:
    """Collects events while its hooks are in place; use it as a context manager.

    Args:
        places: finds the files of the traced code.
        steps: environment steps after which ``Stop`` is raised; 0: never.
        quiet: seed generators and environments, and record nothing.
        named: indices of events, from 0, that also record their tensors by name.
        nudged: index of the event whose numbers are all changed by one unit in the last place, and
            a seed for the directions.

    Attributes:
        events: in order.
        seeds: the first seed that the script gives to each generator.
        seeded: generators and environments that the script did not seed, and the recorder did.
        steps_left: environment steps until ``Stop``; 0: never.
        environment_events: resets and steps of environments so far.
    """

    def __init__(
        self,
        places: Places,
        steps: int = 0,
        quiet: bool = False,
        named: Sequence[int] = (),
        nudged: tuple[int, int] | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.seeds: dict[str, str] = {}
        self.seeded: list[str] = []
        self.places = places
        self.calls = _Calls()
        #: whether an optimiser is in its step: its writes then belong to the event of the step.
        self.stepping = False
        #: whether recording has ended.
        self.over = False
        #: whether events are joined to results, without those that need not be the same.
        self._joins_events = False
        self.quiet = quiet
        self._named = frozenset(named)
        self._nudged = nudged
        self.steps_left = steps
        self._stopped = False
        self._catches = 0
        self.environment_events = 0
        depth = Depth()
        self._environments = Environments(self, depth)
        self._recorded_methods = RecordedMethods(self, depth, self._environments)
        self._recorded_modules = RecordedModules(self)
        recorded, logged, instead = list_recorded_and_logged_methods()
        self._names, self._logged = (*GYMNASIUM, *recorded), (*LOGGED, *logged)
        self._other_activity = OtherActivity(self, instead)
        self._networks = final.Networks()
        # replaced methods call these by name; see ``recorded_methods.replace_method_by_handler``
        self.environment_reset = self._environments.reset_and_record
        self.environment_step = self._environments.step_and_record
        self.environment_seed = self._environments.seed_and_mark_environment
        self.recorded_call = self._recorded_methods.record_method_call
        self.logged_call = self._recorded_methods.record_logged_values
        self._undo: list[Callable[[], None]] = []
        #: identity of a replaced function -> the function and its replacement.
        self._replaced: dict[int, tuple[Any, Any]] = {}
        self._parameters: dict[int, Any] = {}
        self._new: list[Any] = []
        self._process = os.getpid()

    # -- events ------------------------------------------------------------------------------

    def add_event(
        self, kind: str, name: str, parts: dict[str, Any], at: Any, values: Any = None
    ) -> None:
        """Append an event to the trace, if its kind is recorded now.

        Args:
            at: its place in the traced code; None: it is outside.
            values: returns the tensors and numbers of the event, by name.
        """
        if not self.is_recorded(kind):
            return
        self.events.append({"kind": kind, "name": name, "at": at, "parts": parts})
        self._add_named_values_if_requested(values)
        if self._nudged is not None and len(self.events) - 1 == self._nudged[0]:
            self._perturb_last_event_and_networks(values)
        # not after draws and writes: a network that is still being created would count as complete
        if kind in ("reset", "step", "backward", "optimizer"):
            self._networks.note_new_and_forget_unused()

    def is_recorded(self, kind: str) -> bool:
        """Return whether an event of a kind is recorded now, and note its thread."""
        # not in a forked worker: it inherits the hooks, but its events are never read
        if os.getpid() != self._process or self.over or self.quiet:
            return False
        self._other_activity.note_if_other_thread()
        return not self._joins_events or kind in _TELLING

    def _add_named_values_if_requested(self, values: Any) -> None:
        """Add the values of the last event, by name, if the options name this event."""
        if len(self.events) - 1 in self._named and values is not None:
            by_name = self.events[-1].setdefault("named", {})
            for name, array in itertools.islice(values().items(), _MOST_NAMES):
                # a tensor may be written more than once
                by_name[name if name not in by_name else f"{name} (again)"] = make_event_part(array)

    def _perturb_last_event_and_networks(self, values: Any) -> None:
        """Change the values of the last event, and the networks, by one unit in the last place."""
        assert self._nudged is not None
        draw = np.random.Generator(np.random.PCG64(self._nudged[1]))
        # not recorded: these writes are not the training's, and would count as a difference
        was_inside, self.calls.inside = self.calls.inside, True
        try:
            event_values = list(values().values()) if values is not None else []
            for value in [*event_values, *self._networks.list_tensors()]:
                nudged_value = leaves.move_by_one_ulp(value, draw)
                if nudged_value is None:
                    continue
                # a read-only array cannot change; the training uses copies of it, which do
                with contextlib.suppress(ValueError, RuntimeError):
                    if isinstance(value, np.ndarray):
                        value[...] = nudged_value
                    else:
                        # not ``detach``: a backward pass refuses tensors that it sees modified
                        value.data.copy_(nudged_value)
        finally:
            self.calls.inside = was_inside

    def name_tensors_by_identity(self) -> dict[int, str]:
        """Return parameter or buffer, by identity -> its name in a network in use."""
        return self._networks.name_tensors_by_identity()

    def record_result(self, name: str, value: Any) -> None:
        """Record a result of a training: its value, or an error and where it was raised."""
        if not isinstance(value, ExpectedError):
            self.add_event(
                "output",
                name,
                {"value": make_event_part(value)},
                None,
                lambda: name_leaves_of_result(value),
            )
            return
        parts = {"value": make_part_of_text(value, RAISED)}
        self.add_event(
            "output", name, parts, ["", 0, "", self.places.select_traced_frames(value.frames)]
        )

    def record_runs_as_results(self, runs: Iterable[tuple[str, Callable[[], Any]]]) -> None:
        """Run trainings that a version may lack; join all events of one kind into one result.

        Raises:
            Unsupported: the version lacks all of them.
        """
        lacks_all, nudged, self._joins_events = True, self._nudged, True
        for name, run in runs:
            # no nudging within a run: the index to nudge counts events after they are joined
            first, self._nudged = len(self.events), None
            answer = call_or_return_error(run)
            events, self.events[first:], self._nudged = self.events[first:], [], nudged
            if isinstance(answer, Lacking):
                continue
            lacks_all = False
            for kind in _TELLING:
                parts = [
                    part_of_event
                    for event in events
                    if event["kind"] == kind
                    for part_of_event in event["parts"].values()
                ]
                if parts:
                    self.add_event(
                        "output", f"{name}: {kind}", {"value": join_event_parts(parts)}, None
                    )
            self.record_result(name, answer)
        self._joins_events = False
        if lacks_all:
            raise Unsupported("this version has none of these trainings")

    def record_end(self) -> None:
        """Record the last event, the networks at the end of the training, and end the recording."""
        parts = self._networks.make_parts_of_changed_parameters_and_buffers()
        if parts:
            self.add_event("final", "networks", parts, None, self._networks.map_tensors_by_name)
        self.over = True

    @property
    def other_activity(self) -> list[dict[str, Any]]:
        """Return the other threads and processes that did a part of the training."""
        return self._other_activity.rows

    def record_draw(self, name: str, records_argument: bool, *call: Any) -> None:
        """Record a random draw of the traced code."""
        arguments, _, returned = call
        value = arguments[0] if records_argument and arguments else returned
        at = self.places.find_nearest_traced_place()
        if at is not None and self.is_recorded("draw") and has_readable_numbers(value):
            self.add_event("draw", name, {"value": make_event_part(value)}, at)

    def _record_written_tensors(
        self, name: str, arguments: Any, options: Mapping[str, Any], _: Any
    ) -> None:
        """Record the tensors that a function wrote to: in place, with ``out=``, or in a list."""
        is_in_place = name.endswith("_")
        target = arguments[0] if is_in_place and arguments else options.get("out")
        for tensor in target if isinstance(target, (list, tuple)) else [target]:
            self._record_written_tensor(name, tensor)

    def _record_written_tensor(self, name: str, tensor: Any) -> None:
        """Record a tensor written without a gradient: target networks, buffers, gradients."""
        if not torch.is_tensor(tensor) or not has_readable_numbers(tensor):
            return
        if torch.is_grad_enabled() and tensor.requires_grad:
            return
        at = self.places.find_nearest_traced_place()
        if at is not None and self.is_recorded("write"):
            # writes of one function to tensor after tensor are one event: an update of a network
            self._extend_last_event_or_add(
                "write", name, tensor, at, lambda place: (place[0], place[2])
            )

    def _record_tensor_data(self, arguments: Any, _: Any) -> None:
        """Record an array, or a list, that is converted to a tensor."""
        array = arguments[0] if arguments else None
        if not _is_data_for_tensor(array):
            return
        at = self.places.find_nearest_traced_place()
        if at is not None and self.is_recorded("data"):
            # arrays of one line are one event: the fields of a minibatch
            self._extend_last_event_or_add("data", "array", array, at, lambda place: place[:3])

    def _record_loss_before_backward(
        self, name: str, arguments: Any, options: Mapping[str, Any]
    ) -> None:
        """Record a loss before its gradients are computed."""
        tensors = arguments[0] if arguments else options.get("outputs", options.get("tensors"))
        if not has_readable_numbers(tensors):
            return
        self.record_new_parameters()
        is_single = isinstance(tensors, (list, tuple)) and len(tensors) == 1
        value = make_event_part(tensors[0] if is_single else tensors)
        self.add_event("backward", name, {"loss": value}, self.places.find_nearest_traced_place())

    def _extend_last_event_or_add(
        self, kind: str, name: str, value: Any, at: Any, same: Any
    ) -> None:
        last = self.events[-1] if self.events else None
        added = make_event_part(value)

        def list_named_values() -> dict[str, Any]:
            tensor_name = self.name_tensors_by_identity().get(id(value), describe_types(value))
            return {f"value {tensor_name}": value}

        if last is not None and last["kind"] == kind and same(last["at"]) == same(at):
            last["parts"]["value"] = join_event_parts([last["parts"]["value"], added])
            self._add_named_values_if_requested(list_named_values)
            return
        self.add_event(kind, name, {"value": added}, at, list_named_values)

    def record_new_parameters(self) -> None:
        """Record the first values of all parameters that were registered since the last call."""
        alive = [p for p in (reference() for reference in self._new) if p is not None]
        self._new.clear()
        tensors = [p for p in alive if torch.is_tensor(p) and has_readable_numbers(p)]
        if tensors and self.is_recorded("parameters"):
            parts = {"value": make_part_of_many_arrays(tensors)}

            def list_named_values() -> dict[str, Any]:
                names = self.name_tensors_by_identity()
                return {f"value {names.get(id(p), number)}": p for number, p in enumerate(alive)}

            self.add_event(
                "parameters",
                "initial",
                parts,
                self.places.find_nearest_traced_place(),
                list_named_values,
            )

    def wrap_environment(self, environment: Any) -> Any:
        """Hook all classes of an environment, so that it is recorded; return the environment."""
        for kind in type(environment).__mro__:
            self._environments.hook_environment_class(kind)
        return environment

    def count_environment_step(self) -> None:
        """Count a recorded step of an environment; raise ``Stop`` after the last one."""
        if self.steps_left and os.getpid() == self._process:
            self.steps_left -= 1
            if not self.steps_left:
                self.record_end()
                self._stopped = True
                raise Stop

    def stop_training(self) -> None:
        """End the training here, or at the next step of an environment if there are any."""
        if self.environment_events and self.steps_left != 1 and not self._stopped:
            self.steps_left = 1
            return
        self.over = self._stopped = True
        raise Stop

    def raise_if_stopped(self) -> None:
        """Raise ``Stop`` again in a script that caught it and continues."""
        # some loops count only the steps that succeed: they would never end
        if self._stopped and os.getpid() == self._process and self._catches < _MOST_CATCHES:
            self._catches += 1
            raise Stop

    def note_seeded_generator(self, name: str) -> None:
        """Note that the recorder seeded a generator or an environment."""
        if name not in self.seeded:
            self.seeded.append(name)

    # -- hooks -------------------------------------------------------------------------------

    def patch_until_exit(self, owner: Any, name: str, new: Any) -> Any:
        """Set an attribute until the recorder exits; return its new value.

        Not ``unittest.mock``: ``replace_functions_imported_before`` has to find the replacement of
        a function, which has its name for pickling, and all hooks are undone in one order.
        """
        missing = object()
        own = vars(owner).get(name, missing) if hasattr(owner, "__dict__") else missing

        def undo_patch() -> None:
            if own is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

        if inspect.isfunction(new):
            new = make_replacement(owner, name, getattr(owner, name, None), new)
        if own is not missing and inspect.isroutine(own):
            self._replaced[id(own)] = (own, new)
        setattr(owner, name, new)
        self._undo.append(undo_patch)
        return new

    def replace_functions_imported_before(self) -> None:
        """Replace functions in modules of the traced code that imported them by name before."""
        for module in list(sys.modules.values()):
            if (
                self.places.find_path_below_root(str(getattr(module, "__file__", None) or ""))
                is None
            ):
                continue
            for name, value in list(vars(module).items()):
                original, replacement = self._replaced.get(id(value), (None, None))
                if original is value and original is not None:
                    setattr(module, name, replacement)
                    self._undo.append(functools.partial(setattr, module, name, original))

    def call_on_exit(self, undo: Callable[[], None]) -> None:
        """Call ``undo`` when the recorder exits; the last added function is called first."""
        self._undo.append(undo)

    def __enter__(self) -> Recorder:
        global CURRENT
        from rlregress.inside import optimizers, seeds

        _let_torch_cache_device_constructors()
        try:
            if not self.quiet:
                self._hook_torch_functions()
                self._hook_parameters()
                self._networks.install(self)
                self._recorded_modules.install()
                optimizers.record_optimizer_steps(self)
            seeds.seed_all_generators(self)
            self._other_activity.install()
            self._hook_environments()
            CURRENT = self
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        global CURRENT
        self.record_end()
        CURRENT = None
        while self._undo:
            self._undo.pop()()

    def _hook_environments(self) -> None:
        importing = ImportListener()
        sys.meta_path.insert(0, importing)
        self.call_on_exit(lambda: sys.meta_path.remove(importing))
        self._environments.install(importing)
        # vector environments in other processes are seeded here: only their first reset gets a seed
        names = [name for name in GYMNASIUM if name.endswith(".reset")]
        self._recorded_methods.install(importing, names if self.quiet else self._names)
        if not self.quiet:
            self._recorded_methods.install(importing, self._logged, "logged_call")

    def _hook_torch_functions(self) -> None:
        for owner, names, label in (
            (torch, _TORCH_DRAWS, "torch"),
            (torch.Tensor, _TENSOR_DRAWS, "Tensor"),
            (np.random, _NUMPY_DRAWS, "numpy.random"),
            (random, _PYTHON_DRAWS, "random"),
        ):
            for name in names:
                # "shuffle" returns nothing: its drawn value is its shuffled argument
                note = functools.partial(self.record_draw, f"{label}.{name}", name == "shuffle")
                self.hook_function(owner, name, after=note, in_optimizer=False)
        for owner, writes, label in (
            (torch.Tensor, _TENSOR_WRITES, "Tensor"),
            (torch, _TORCH_WRITES, "torch"),
        ):
            for name in filter(functools.partial(hasattr, owner), writes):
                note = functools.partial(self._record_written_tensors, f"{label}.{name}")
                self.hook_function(
                    owner, name, after=note, hides_inner=label == "Tensor", in_optimizer=False
                )
        for name in _TORCH_DATA:
            self.hook_function(torch, name, before=self._record_tensor_data, in_optimizer=False)
        for owner, name, label in (
            (torch.Tensor, "backward", "loss"),
            (torch.autograd, "backward", "loss"),
            (torch.autograd, "grad", "grad"),
        ):
            note = functools.partial(self._record_loss_before_backward, label)
            self.hook_function(owner, name, before=note)

    def hook_function(
        self,
        owner: Any,
        name: str,
        *,
        before: Any = None,
        after: Any = None,
        hides_inner: bool = True,
        in_optimizer: bool = True,
    ) -> None:
        """Call functions before and after another one, until the recorder exits.

        Args:
            before: takes the arguments, by position and by name.
            after: takes the same arguments, and the returned value.
            hides_inner: hooked functions that the function calls are part of it, not reported.
            in_optimizer: call them also within an optimiser's step, which is itself one event.
        """
        original, calls = getattr(owner, name), self.calls

        def hooked(*arguments: Any, **options: Any) -> Any:
            is_part = calls.inside or (self.stepping and not in_optimizer)
            # torch.compile follows no hook
            if is_part or self.over or compiling():
                return call_original(original, *arguments, **options)
            try:
                if before is not None:
                    calls.inside = True
                    before(arguments, options)
                calls.inside = hides_inner
                returned = call_original(original, *arguments, **options)
                if after is not None:
                    calls.inside = True
                    after(arguments, options, returned)
            finally:
                calls.inside = False
            return returned

        replacement = self.patch_until_exit(owner, name, hooked)
        # functions that torch.jit compiles mean the original
        operator = jit._find_builtin(original)
        if operator is not None:
            jit._register_builtin(replacement, operator)
            table = jit._get_builtin_table()
            self.call_on_exit(lambda: table.pop(id(replacement), None))

    def _hook_parameters(self) -> None:
        def record_registration(_: Any, __: str, parameter: Any) -> None:
            reference = self._parameters.get(id(parameter))
            # functional calls register the same parameters over and over
            if parameter is not None and (reference is None or reference() is not parameter):
                self._parameters[id(parameter)] = weakref.ref(parameter)
                self._new.append(self._parameters[id(parameter)])

        register = torch.nn.modules.module.register_module_parameter_registration_hook
        self.call_on_exit(register(Hook(record_registration)).remove)


def _is_data_for_tensor(value: Any) -> bool:
    """Return whether a value holds several numbers and is no tensor yet."""
    if isinstance(value, np.ndarray):
        return value.size > 1
    return isinstance(value, (list, tuple)) and len(value) > 1 and has_readable_numbers(value)


def list_recorded_and_logged_methods() -> tuple[list[str], list[str], dict[str, str]]:
    """Return the recorded and the logging methods of all adapters, and one-process substitutes."""
    from rlregress import frameworks

    recorded: list[str] = []
    logged: list[str] = []
    instead: dict[str, str] = {}
    for name in frameworks.list_framework_names():
        # a broken adapter of a third party must not prevent a recording
        with contextlib.suppress(Exception):
            adapter = frameworks.get_adapter(name)
            recorded.extend(adapter.framework.recorded_methods)
            logged.extend(adapter.framework.logged)
            instead.update(adapter.framework.in_one_process)
    return recorded, logged, instead


def _let_torch_cache_device_constructors() -> None:
    """Let torch cache the functions that obey its default device, before they are replaced."""
    # torch imports it on demand
    if importlib.util.find_spec("torch.utils._device") is not None:
        module = importlib.import_module("torch.utils._device")
        getattr(module, "_device_constructors", list)()

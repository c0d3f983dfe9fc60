"""Repeats a call with the old and the new code, with its own and with perturbed arguments.

Results, gradients, changed arguments and state, the type of an error, and random draws are
compared. A call that changes anything else of the traced code is not compared. The effect of
rounding is measured: in double precision it nearly vanishes. Where double precision is impossible,
the old code is repeated with every number moved by one unit in the last place.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
import itertools
import os
import random
import re
import signal
import time
import types
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from rlregress.inside import bindings, leaves, outcomes, values_read, written_by_calls
from rlregress.inside.bindings import Binding
from rlregress.inside.copies import Copies
from rlregress.inside.handed_locals import HandedLocals, NamesByDictionary
from rlregress.inside.leaves import LeavesByPath
from rlregress.inside.outcomes import (
    Difference,
    Outcome,
    are_leaves_equal,
    measure_largest_distance,
    measure_largest_magnitude,
)
from rlregress.inside.perturbed import Arguments, Perturbation, Target, list_perturbations
from rlregress.inside.values_read import Statement, ValueTracer
from rlregress.probing import random_generators, time_limits

SAME, CLOSE = "same", "close"
#: ``SAME``, ``CLOSE`` or the difference of two outcomes; None: they cannot be compared.
_Verdict = str | Difference | None
#: how the paths of results begin; no argument has this name.
RESULT = "the result"
#: how often the old code is repeated with arguments changed in their last digits, and how many
#: times further than these results the new code's may be, to count as rounding.
REPEATS, FURTHER = 8, 4.0
#: a difference is rounding if at most this share of it is left in double precision.
_VANISHED = 1e-4
#: CPU seconds for the search for the smallest argument that shows a difference.
SMALLER = 2.0
#: how many items of a generator are compared.
_ITEMS = 1000
#: types of module variables that are treated like arguments of the module's functions.
_DATA = (
    bool, int, float, dict, list, set, collections.deque, np.ndarray, torch.Tensor, random.Random,
    np.random.Generator, np.random.RandomState,
)  # fmt: skip
#: types of values other than arguments whose contents are compared.
_OUTSIDE = (*_DATA, str, bytes, tuple, type(None))
#: finds names of values, such as times, that differ between any two calls.
_TIMES = re.compile(
    r"(?:^|[^a-z])(?:time|date|fps|seconds?|duration|pid)(?:$|[^a-z])|time_ns|start_time"
)
#: how many levels deep tensors are looked for in arguments, and in results.
_DEEP, _DEEP_RESULT = 20, 4


class TooLong(BaseException):
    """A repetition takes longer than it may; no handler of the repeated code stops it."""


class NotApplied(Exception):
    """A perturbation cannot be applied to the arguments."""


class NotCompared(Exception):
    """A call cannot be compared; ``facts`` are added to its row."""

    def __init__(self, why: str, **facts: bool) -> None:
        super().__init__(why)
        self.facts = facts


class Items(list[Any]):
    """The items of a generator that is an argument, as a generator cannot be copied."""


class FunctionVersion(NamedTuple):
    """One version of a function, and how to call it.

    Attributes:
        function: called with those of the captured arguments that its signature names.
        own: arguments of this version alone, such as another default.
        bound: values of modules and classes while it runs.
        differing: its statements that the other version does not have.
    """

    function: Callable[..., Any]
    own: dict[str, Any] = {}
    bound: Sequence[Binding] = ()
    differing: Sequence[Statement] = ()

    def call_with_arguments(self, arguments: dict[str, Any]) -> Any:
        """Call the function and return its result; for a generator, the list of its items."""
        signature = inspect.signature(self.function)
        captured = {**arguments, **self.own}
        values = {
            name: iter(captured[name]) if isinstance(captured[name], Items) else captured[name]
            for name in signature.parameters
        }
        bound = inspect.BoundArguments(signature, values)
        with bindings.bind_temporarily(self.bound):
            result = self.function(*bound.args, **bound.kwargs)
            if isinstance(result, (types.GeneratorType, map, filter, zip, enumerate, reversed)):
                items = list(itertools.islice(result, _ITEMS + 1))
                if len(items) > _ITEMS:
                    raise leaves.TooManyLeaves(f"it yields more than {_ITEMS} items")
                return items
        if inspect.iscoroutine(result):
            result.close()
            raise NotImplementedError("it is a coroutine")
        return result


class Call:
    """A captured call of a function, with both versions of it.

    Args:
        arguments: name -> value when the call begins.
        names: attributes and globals that the old version reads. Others are not perturbed.
        near: names in the lines that differ.
        variables: those of the function's module.
        joint: answers a question about the old version of this function while all differing
            functions have their old code; it returns None if that is impossible.
        all_names: names in the new version's file.
        find_locals_read: returns the variables that other code reads from ``locals()``.
        options: arguments that are texts or None, with other values to try.
        modules: modules of the traced code, whose variables and classes a call can change.
        around: variables around the function, by name.
    """

    def __init__(
        self,
        old: FunctionVersion,
        new: FunctionVersion,
        arguments: dict[str, Any],
        names: set[str],
        near: set[str],
        variables: dict[str, Any],
        joint: Callable[[Callable[[FunctionVersion], bool]], bool | None],
        all_names: Collection[str] = (),
        find_locals_read: Callable[[], NamesByDictionary] = dict,
        options: Sequence[Target] = (),
        modules: Sequence[types.ModuleType] = (),
        around: Mapping[str, Any] = {},
    ) -> None:
        self.old, self.new = old, new
        self._names, self._near = names, near
        self._variables, self._joint, self._all_names = variables, joint, all_names
        self._find_locals_read, self._options = find_locals_read, options
        self._modules, self._around = modules, around
        self._fixed = set(old.own) | set(new.own)
        self._states = _ProcessState()
        # values that differ between the versions are no arguments
        rebound = {binding.name for code in (old, new) for binding in code.bound}
        data = {
            f"global {name}": value
            for name, value in variables.items()
            if name in names - rebound and isinstance(value, _DATA)
        }
        arguments = {**data, **arguments}
        self._globals = [name[len("global ") :] for name in data]
        self._copies = Copies(
            Arguments({n: _list_items_of_generator(v) for n, v in arguments.items()})
        )

    def compare_with_perturbations(
        self, seconds: float, known_paths: Collection[str] = ()
    ) -> dict[str, Any]:
        """Repeat the call until all perturbations are tried, or the time is up.

        Args:
            known_paths: paths through the differing statements that need no further calls.

        Returns:
            How many repetitions were ``same``, ``close`` and ``skipped``; how many of the first two
            ``touched`` the differing statements; ``differs``: the smallest perturbation that shows
            a difference; ``given``: the training's own arguments show it; ``why`` nothing could be
            compared; ``raises``: that is because the old code raises on these arguments. ``path``:
            the differing statements that ran; ``known``: whether it is a known path.
        """
        counts: dict[str, Any] = {SAME: 0, CLOSE: 0, "skipped": 0, "touched": 0}
        end = time.process_time() + seconds
        try:
            outside = list_outside_leaves(self._modules, self._around)
            old = self._repeat_old_code(seconds)
            self._check_outside_unchanged(outside)
            verdict = self._compare_outcomes(None, old)
            if verdict is None:
                why = "a version does not repeat itself, or does what cannot be repeated"
                raise NotCompared(why)
            if isinstance(verdict, Difference):
                differs = self._describe_difference_as_row(None, verdict)
                return {**counts, "differs": differs, "given": True}
            path = repr([sorted(values) for values in self._values[0]])
            if path in known_paths:
                return {"known": True}
            counts.update({verdict: 1, "touched": int(self._touched), "path": path, "given": False})
            smallest = self._find_least_difference(counts, seconds, end)
            if smallest is not None:
                return {**counts, "differs": self._describe_difference_as_row(*smallest)}
            self._check_outside_unchanged(outside)
        except (NotCompared, leaves.TooManyLeaves) as reason:
            return {**counts, "why": str(reason), **getattr(reason, "facts", {})}
        return counts

    def _check_outside_unchanged(self, before: LeavesByPath) -> None:
        """Raise NotCompared if calls have changed a variable that is none of their arguments."""
        now = list_outside_leaves(self._modules, self._around)
        for path in {**before, **now}:
            if not (path in before and path in now and are_leaves_equal(before[path], now[path])):
                raise NotCompared(f"calls of it change {path}, which has no copy")

    def _repeat_old_code(self, seconds: float) -> Outcome:
        """Return the old code's outcome on the captured arguments, checked by a second call.

        Raises:
            NotCompared, TooManyLeaves: the outcomes differ, or the code raises or takes too long.
        """
        begun, self._limit = time.process_time(), seconds
        try:
            self._before = _list_leaves_of_arguments(self._copies.make_copy())
            old = self._call_version(self.old)
            if old.error:
                why = f"the old code raises {old.error_text} on the given arguments"
                raise NotCompared(why, raises=not old.refused)
            repeated = self._call_version(self.old)
        except TooLong:
            raise NotCompared(f"a call takes longer than {seconds:g} s") from None
        self._repeated = repeated.values
        self._unstable = set(self._find_differing_leaves(old, repeated))
        self._limit = 1.0 + 5 * (time.process_time() - begun)
        moving = [path for path in self._unstable if not _TIMES.search(path.lower())]
        if moving:
            raise NotCompared(f"two calls of the old code on equal arguments differ in {moving[0]}")
        return old

    def _find_least_difference(
        self, counts: dict[str, Any], seconds: float, end: float
    ) -> tuple[Perturbation, Difference] | None:
        """Return the smallest perturbation that shows a difference; count how the others end."""
        arguments = self._copy_arguments()
        waiting = collections.deque(
            list_perturbations(arguments, self._names, self._near, self._options)
        )
        # a limit in wall time as well, for a machine that is busy with other work
        late = time.monotonic() + 2 * seconds
        while waiting and time.process_time() < end and time.monotonic() < late:
            perturbation = waiting.popleft()
            verdict = self._compare_with_perturbed_arguments(perturbation)
            if isinstance(verdict, Difference):
                return self._shrink_perturbation(perturbation, verdict, end)
            counts[verdict or "skipped"] += 1
            counts["touched"] += verdict is not None and self._touched
            if verdict is None:
                # the old code may accept half of the changes
                waiting.extend(perturbation.split_in_halves())
        return None

    def _shrink_perturbation(
        self, perturbation: Perturbation, difference: Difference, end: float
    ) -> tuple[Perturbation, Difference]:
        """Return the smallest part of a perturbation that still shows a difference."""
        waiting = perturbation.list_smaller_perturbations()
        late = time.monotonic() + 2 * SMALLER
        while waiting and time.process_time() < end + SMALLER and time.monotonic() < late:
            smaller = waiting.pop(0)
            verdict = self._compare_with_perturbed_arguments(smaller)
            if isinstance(verdict, Difference):
                perturbation, difference, waiting = (
                    smaller,
                    verdict,
                    smaller.list_smaller_perturbations(),
                )
        return perturbation, difference

    def _copy_arguments(self) -> Arguments:
        """Return a copy of the arguments that may be perturbed."""
        copied: Arguments = self._copies.make_copy()
        return Arguments({n: v for n, v in copied.items() if n not in self._fixed})

    def _compare_with_perturbed_arguments(self, perturbation: Perturbation) -> _Verdict:
        """Return ``_compare_outcomes`` on perturbed arguments; None: the old code fails on them."""
        try:
            old = self._call_version(self.old, perturbation)
        except (TooLong, NotApplied, leaves.TooManyLeaves):
            return None
        return self._compare_outcomes(perturbation, old) if old.is_finite(self._before) else None

    def _compare_outcomes(self, perturbation: Perturbation | None, old: Outcome) -> _Verdict:
        """Return ``SAME``, ``CLOSE``, or the difference; None: a version does not repeat itself."""
        try:
            new = self._call_version(self.new, perturbation)
        except TooLong:
            limit = f"{self._limit:.1f} s"
            return Difference("CPU time of the call", f"less than {limit}", f"more than {limit}")
        if new.refused:
            return None
        values = old.values, new.values
        if perturbation is None:
            # a value that the old code does not read again is no evidence
            self._values = values, (self._repeated, new.values)
        self._touched = values_read.do_perturbed_values_differ(*self._values, values)
        difference = self._compare_leaves_of_outcomes(old, new)
        if difference is None:
            return SAME
        try:
            if self._is_rounding(perturbation, difference):
                return CLOSE
            # old code that differs from itself, such as by the order of a set, shows nothing
            if (
                self._compare_leaves_of_outcomes(old, self._call_version(self.old, perturbation))
                is not None
            ):
                return None
        except (TooLong, NotApplied):
            return None

        def is_same_together(code: FunctionVersion) -> bool:
            # the new code is not there any more, to be repeated in double precision
            remainder = self._compare_leaves_of_outcomes(
                self._call_version(code, perturbation), new
            )
            return remainder is None or (
                remainder.rounding and self._is_within_spread_of_old(code, perturbation, remainder)
            )

        # code that moved from one changed function into another differs in neither of them alone
        return SAME if self._joint(is_same_together) else difference

    def _compare_leaves_of_outcomes(self, old: Outcome, new: Outcome) -> Difference | None:
        differing = self._find_differing_leaves(old, new)
        for path in self._unstable:
            # an unsteady value, such as a time, differs only if its kind does
            first, second = differing.get(path, (None, None))
            if first is not None and second is not None and first[0] == second[0]:
                del differing[path]
        return outcomes.choose_difference_to_report(differing)

    def _find_differing_leaves(self, old: Outcome, new: Outcome) -> dict[str, tuple[Any, Any]]:
        return outcomes.find_differing_leaves(old, new, self._before, self._all_names)

    def _call_version(
        self, code: FunctionVersion, perturbation: Perturbation | None = None, change: Any = None
    ) -> Outcome:
        """Call one version of the function on a new copy of the arguments; return its outcome.

        Args:
            change: applied after the perturbation; see ``leaves.change_numbers_in_place``.
        """
        arguments = self._copies.make_copy()
        try:
            if perturbation is not None:
                perturbation.change_arguments(arguments)
            if change is not None:
                leaves.change_numbers_in_place(arguments, change)
        except Exception as why:  # of a class that has its own idea of its attributes
            raise NotApplied(str(why)) from None
        before = {name: self._variables[name] for name in self._globals}
        self._variables.update({name: arguments[f"global {name}"] for name in self._globals})
        self._states.restore_states()
        writings = written_by_calls.current
        if writings is not None:
            writings.delete_earlier_output()
        result, error, error_text = None, "", ""
        tracer = ValueTracer(getattr(code.function, "__code__", None), code.differing)
        handed = HandedLocals(self._find_locals_read)
        try:
            limit = time_limits.raise_error_after(TooLong, {signal.ITIMER_PROF: self._limit})
            with handed, limit, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = tracer.call_and_note_values(code.call_with_arguments, arguments)
        except TooLong:
            raise
        except BaseException as raised:  # whatever either version raises is its result
            error = type(raised).__qualname__
            error_text = f"{error}: {raised}".split("\n")[0][:200]
        finally:
            states = self._states.list_present_states()
            arguments.update({f"global {n}": self._variables.get(n) for n in self._globals})
            self._variables.update(before)
            self._states.restore_states()
        # fluent methods return their object, which is described as an argument
        named = {id(v): n for n, v in arguments.items() if leaves.describe_leaf(v) is None}
        described = leaves.list_leaves(result, RESULT, named, handed.find_unread_locals)
        with bindings.bind_temporarily(code.bound):
            described.update(_compute_gradients(result, arguments))
        described.add_leaves(_list_leaves_of_arguments(arguments, handed.find_unread_locals))
        described.update(states)
        if writings is None:
            return Outcome(error, error_text, described, tracer.values)
        described.update(writings.read_output_as_leaves())
        if writings.refused:
            # whatever the code has made of the error
            error = "PermissionError"
            error_text = f"{error}: a repeated call does not do {writings.refused}"
        return Outcome(error, error_text, described, tracer.values, writings.refused)

    def _is_rounding(self, perturbation: Perturbation | None, difference: Difference) -> bool:
        """Return whether rounding alone explains a difference."""
        if not (difference.rounding or difference.flips):
            return False
        vanishes = self._vanishes_in_double(perturbation, difference)
        if vanishes is not None or not difference.rounding:
            return bool(vanishes)
        return self._is_within_spread_of_old(self.old, perturbation, difference)

    def _is_within_spread_of_old(
        self, old: FunctionVersion, perturbation: Perturbation | None, difference: Difference
    ) -> bool:
        """Return whether the old code differs as much if all numbers move by their last digit."""
        spread: dict[str, float] = {}
        for number in range(REPEATS):
            draw = np.random.Generator(np.random.PCG64(number))
            perturbed = self._call_version(
                old, perturbation, lambda value, d=draw: leaves.move_by_one_ulp(value, d)
            )
            for path, (before, _) in difference.numbers.items():
                after = perturbed.leaves.get(path, (None, None))[1]
                if isinstance(after, np.ndarray) and after.shape == before.shape:
                    spread[path] = max(
                        spread.get(path, 0.0), measure_largest_distance(before, after)
                    )
        return all(
            measure_largest_distance(before, after)
            <= FURTHER
            * (
                spread.get(path, 0.0)
                + np.finfo(before.dtype).eps * measure_largest_magnitude(before)
            )
            for path, (before, after) in difference.numbers.items()
        )

    def _vanishes_in_double(
        self, perturbation: Perturbation | None, difference: Difference
    ) -> bool | None:
        """Return whether double precision removes a difference; None: it cannot show it."""
        if self._copies.has_shared_memory:
            # numbers of another size do not lie in the same memory
            return None
        with _use_double_precision():
            old, new = (
                self._call_version(code, perturbation, _convert_to_double)
                for code in (self.old, self.new)
            )
        if old.error or new.error:
            return None
        remainder = self._compare_leaves_of_outcomes(old, new)
        if remainder is None:
            return True
        unit = float(np.finfo(np.float32).eps)
        vanished = remainder.rounding and all(
            measure_largest_distance(*double) <= _VANISHED * max(measure_largest_distance(*single),
                                                    unit * measure_largest_magnitude(single[0]))
            for path, double in remainder.numbers.items()
            for single in (difference.numbers.get(path, double),)
        )  # fmt: skip
        # results that were double before, or are cast to single inside, prove nothing
        paths = [path for path, (array, _) in difference.numbers.items()
                 if array.dtype == np.float32]  # fmt: skip
        kinds = {getattr(old.leaves.get(path, ("",))[-1], "dtype", None) for path in paths}
        return vanished or (False if kinds == {np.dtype(np.float64)} else None)

    def _describe_difference_as_row(
        self, perturbation: Perturbation | None, difference: Difference
    ) -> dict[str, Any]:
        words = "arguments of a training"
        if perturbation is not None:
            words = perturbation.describe_changes(self._copy_arguments())
        return {
            "arguments": words, "path": difference.path, "old": difference.old,
            "new": difference.new,
        }  # fmt: skip


def list_outside_leaves(
    modules: Sequence[types.ModuleType], around: Mapping[str, Any]
) -> LeavesByPath:
    """Return the leaves of all variables of modules and their classes, and of ``around``."""
    names = {module.__name__ for module in modules}
    owners: list[tuple[str, Any]] = [(module.__name__, module) for module in modules]
    owners += [(f"{owner}.{kind.__qualname__}", kind) for owner, module in owners
               for kind in vars(module).values()
               if isinstance(kind, type) and kind.__module__ == owner]  # fmt: skip
    values = {
        f"{owner}.{name}": value
        for owner, outside in owners
        for name, value in vars(outside).items()
        # an import adds modules, and Python notes the rest
        if not isinstance(value, types.ModuleType) and not name.startswith("__")
    }
    described = LeavesByPath()
    for path, value in {**values, **around}.items():
        if path in around or isinstance(value, _OUTSIDE) or type(value).__module__ in names:
            described.add_leaves(leaves.list_leaves(value, path))
        else:
            described[path] = "unreadable", leaves.Unreadable(value)
    return described


def _list_leaves_of_arguments(arguments: Arguments, find_unread_keys: Any = None) -> LeavesByPath:
    """Describe the leaves of all arguments.

    Args:
        find_unread_keys: returns keys of a dictionary to leave out; see ``leaves.list_leaves``.
    """
    described = LeavesByPath()
    for name, value in arguments.items():
        described.add_leaves(leaves.list_leaves(value, name, find_unread_keys=find_unread_keys))
    return described


def _list_items_of_generator(value: Any) -> Any:
    if isinstance(value, types.GeneratorType):
        return Items(itertools.islice(value, _ITEMS))
    return value


def _set_environment_variables(variables: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


_PRECISION = "default precision"
#: settings of the process: name -> functions that read and set it.
_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "gradients enabled": (torch.is_grad_enabled, torch.set_grad_enabled),
    _PRECISION: (torch.get_default_dtype, torch.set_default_dtype),
    "deterministic algorithms": (
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    "threads of torch": (torch.get_num_threads, torch.set_num_threads),
    "errors of NumPy": (np.geterr, lambda errors: np.seterr(**errors)),
    "environment variables": (lambda: dict(os.environ), _set_environment_variables),
}  # fmt: skip


class _ProcessState:
    """State of the process: random generators and settings."""

    def __init__(self) -> None:
        self._generators = random_generators.read_generator_states()
        self._settings = {name: read() for name, (read, _) in _SETTINGS.items()}

    def restore_states(self) -> None:
        """Restore the saved state, except the precision inside ``_use_double_precision``."""
        random_generators.restore_generator_states(self._generators)
        for name, (read, put) in _SETTINGS.items():
            if read() != self._settings[name]:
                put(self._settings[name])
        if _doubling:
            torch.set_default_dtype(torch.float64)

    @staticmethod
    def list_present_states() -> LeavesByPath:
        """Return the present state as leaves."""
        states = random_generators.read_comparable_states()
        described = LeavesByPath()
        described["draws from random"] = "generator", states["python"]
        described["draws from numpy.random"] = "generator", states["numpy"]
        described["draws from torch"] = "generator", states["torch"]
        for name, (read, _) in _SETTINGS.items():
            value = read()
            described.add_leaves(
                leaves.list_leaves(str(value) if name == _PRECISION else value, name)
            )
        return described


def _list_tensors_with_gradient(
    value: Any, levels: int, excluded: Sequence[Any] = ()
) -> list[torch.Tensor]:
    """Return the tensors in a value that require a gradient, each once.

    Args:
        levels: of containers and objects that are searched.
        excluded: objects that are not searched.
    """
    tensors: dict[int, torch.Tensor] = {}
    visited = set(map(id, excluded))

    def add_tensors(part: Any, level: int) -> None:
        if isinstance(part, torch.Tensor):
            if part.requires_grad and part.dtype.is_floating_point:
                tensors[id(part)] = part
        elif level < levels and id(part) not in visited and leaves.describe_leaf(part) is None:
            visited.add(id(part))
            for _, child in leaves.list_labelled_parts(part):
                add_tensors(child, level + 1)

    add_tensors(value, 0)
    return list(tensors.values())


def _compute_gradients(result: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return path of each tensor argument -> gradient of a fixed weighted sum of the results."""
    results = _list_tensors_with_gradient(result, _DEEP_RESULT, list(arguments.values()))
    # tensors that others are computed from; results are differentiated by these
    inputs = _list_tensors_with_gradient(dict(arguments), _DEEP) if results else []
    tensors = [tensor for tensor in inputs if tensor.is_leaf]
    if not tensors:
        return {}
    try:
        weighted = [
            outcome
            * torch.cos(torch.arange(outcome.numel(), dtype=outcome.dtype) + number).reshape(
                outcome.shape
            )
            for number, outcome in enumerate(results)
        ]
        total = torch.stack([output.sum().double() for output in weighted]).sum()
        gradients = torch.autograd.grad(total, tensors, allow_unused=True)
    except RuntimeError as error:
        return {"gradient": ("error", type(error).__qualname__)}
    return {
        f"gradient {number} of the result": leaves.describe_leaf(gradient)
        for number, gradient in enumerate(gradients)
    }


#: whether torch makes numbers of double precision.
_doubling = False


@contextlib.contextmanager
def _use_double_precision() -> Iterator[None]:
    """Make torch create and cast to double precision wherever it would use single precision."""
    global _doubling
    before, cast = torch.get_default_dtype(), torch.Tensor.float
    _doubling = True
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]
    try:
        yield
    finally:
        _doubling = False
        torch.Tensor.float = cast  # type: ignore[method-assign]
        torch.set_default_dtype(before)


def _convert_to_double(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype == torch.float32 else None
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.float32:
        return value.astype(np.float64)
    return None

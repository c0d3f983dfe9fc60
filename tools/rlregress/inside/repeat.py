"""One call repeated with the old and the new code: as it was, and with its arguments perturbed.

Compared are results, gradients, changed arguments and state, the type of an error, and random
draws. How far rounding goes is measured: in double precision it all but vanishes; where that cannot
be had, the old code is repeated with every number one unit in the last place away.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
import itertools
import random
import re
import signal
import time
import types
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import (
    Any,
    NamedTuple,
)

import numpy as np
import torch

from rlregress.inside import bindings, leaves, values_read, written_by_calls
from rlregress.inside.bindings import Binding
from rlregress.inside.copies import Copies
from rlregress.inside.handed_locals import HandedLocals, NamesRead
from rlregress.inside.leaves import Described
from rlregress.inside.perturbed import Arguments, Perturbation, perturbations
from rlregress.inside.values_read import Statement, Values, Watch

SAME, CLOSE = "same", "close"
#: how the paths of results begin, as no argument is named.
RESULT = "the result"
#: repetitions of the old code with numbers one unit in the last place away, and how many times
#: further than those the new code may go.
REPEATS, FURTHER = 8, 4.0
#: what is left of a rounding error in double precision, of what it was.
_VANISHED = 1e-4
#: CPU seconds for the smallest argument that shows a difference.
SMALLER = 2.0
#: items of a generator that are compared.
_ITEMS = 1000
_PRINTED = 4
#: what of a module's variables is an argument of its functions, too.
_DATA = (
    bool, int, float, dict, list, set, collections.deque, np.ndarray, torch.Tensor, random.Random,
    np.random.Generator, np.random.RandomState,
)  # fmt: skip
#: what differs from one call to the next by itself.
_TIMES = re.compile(
    r"(?:^|[^a-z])(?:time|date|fps|seconds?|duration|pid)(?:$|[^a-z])|time_ns|start_time"
)
#: levels of arguments and of results in which tensors are looked for.
_DEEP, _DEEP_RESULT = 20, 4


class TooLong(BaseException):
    """A repetition takes longer than it may; no handler of the repeated code stops it."""


class NotApplied(Exception):
    """A perturbation cannot be applied to the arguments."""


class Items(list[Any]):
    """The items of a generator that is given as an argument: a generator has no copy."""


class Code(NamedTuple):
    """One version of a function, and which of the given arguments it is called with.

    Attributes:
        function: called with positional arguments, then named ones.
        positional, named: of the captured arguments, by name.
        rest, others: names of those captured as ``*args`` and ``**kwargs``; empty: it takes none.
        given: arguments that it has by itself, such as another default.
        bound: values that modules and classes have where it runs.
        differing: statements that the other version does not have.
    """

    function: Callable[..., Any]
    positional: Sequence[str]
    named: Sequence[str] = ()
    rest: str = ""
    others: str = ""
    given: dict[str, Any] = {}
    bound: Sequence[Binding] = ()
    differing: Sequence[Statement] = ()

    def call(self, arguments: dict[str, Any]) -> Any:
        """Call it; a generator gives the list of its items."""
        values: dict[str, Any] = {
            name: iter(value) if isinstance(value, Items) else value
            for name, value in {**arguments, **self.given}.items()
        }
        positional = [values[name] for name in self.positional]
        named = {name: values[name] for name in self.named}
        with bindings.meanwhile(self.bound):
            result = self.function(
                *positional, *values.get(self.rest, ()), **named, **values.get(self.others, {})
            )
            if isinstance(result, (types.GeneratorType, map, filter, zip, enumerate, reversed)):
                return list(itertools.islice(result, _ITEMS))
        if inspect.iscoroutine(result):
            result.close()
            raise NotImplementedError("it is a coroutine")
        return result


class _Outcome(NamedTuple):
    """What came of one repetition.

    Attributes:
        error: type of what it raised; empty: it returned.
        error_text: the error in words.
        leaves: path -> leaf of results, gradients, arguments, random states and what is written.
        values: what the statements that differ read and wrote.
        refused: what it would have done outside of the process, and was kept from; empty: nothing.
    """

    error: str
    error_text: str
    leaves: Described
    values: Values
    refused: str = ""

    def sound(self, before: Described) -> bool:
        """Whether it returned, and made no number NaN or infinite.

        Args:
            before: the arguments, whose bounds may be infinite.
        """
        return not self.error and all(
            _is_finite(leaf) or (path in before and not _is_finite(before[path]))
            for path, leaf in self.leaves.items()
        )


def _is_finite(leaf: Any) -> bool:
    if leaf is None or not isinstance(leaf[1], np.ndarray) or leaf[1].dtype.kind != "f":
        return True
    return bool(np.isfinite(leaf[1]).all())


class Difference(NamedTuple):
    """Where two outcomes differ.

    Attributes:
        path: of the leaf.
        old, new: in words.
        rounding: every difference is one of floating-point numbers of one shape and type.
        flips: every other difference is one of numbers of one shape and type, such as an index.
        numbers: path -> the old and the new array, of floating-point numbers.
    """

    path: str
    old: str
    new: str
    rounding: bool = False
    flips: bool = False
    numbers: dict[str, tuple[np.ndarray, np.ndarray]] = {}


class Call:
    """A captured call of a function, with both versions of it.

    Args:
        arguments: by name, as they are when the call begins.
        names: of attributes and globals that the old version reads: others are not the caller's.
        near: names in the lines that differ.
        variables: of the function's module.
        joint: answers a question about the old version of this function where all functions that
            differ have their old code; None: it cannot.
        known: names in the new version's file.
        read: returns the variables that somebody reads from ``locals()``.
    """

    def __init__(
        self,
        old: Code,
        new: Code,
        arguments: dict[str, Any],
        names: set[str],
        near: set[str],
        variables: dict[str, Any],
        joint: Callable[[Callable[[Code], bool]], bool | None],
        known: Collection[str] = (),
        read: Callable[[], NamesRead] = dict,
    ) -> None:
        self.old, self.new = old, new
        self._names, self._near = names, near
        self._variables, self._joint, self._known = variables, joint, known
        self._read = read
        self._fixed = set(old.given) | set(new.given)
        self._states = _States()
        # what differs between the versions is no argument
        own = {binding.name for code in (old, new) for binding in code.bound}
        data = {
            f"global {name}": value
            for name, value in variables.items()
            if name in names - own and isinstance(value, _DATA)
        }
        arguments = {**data, **arguments}
        self._globals = [name[len("global ") :] for name in data]
        self._copies = Copies(Arguments({n: _listed(v) for n, v in arguments.items()}))

    def examine(self, seconds: float, known: Collection[str] = ()) -> dict[str, Any]:
        """Repeat it until all perturbations are tried, or the time is up.

        Args:
            known: paths through the statements that differ, of which no further call is examined.

        Returns:
            How many repetitions were the ``same``, ``close`` and ``skipped``; how many of the first
            two ``touched`` the statements that differ; ``differs``: the smallest argument for which
            they differ; ``given``: on those that a training gave; ``why`` nothing could be
            compared; ``raises``: as the old code raises on the given arguments. ``path``: the
            statements that differ and ran; ``known``: it is a known path.
        """
        counts: dict[str, Any] = {SAME: 0, CLOSE: 0, "skipped": 0, "touched": 0}
        begun = time.process_time()
        end, self._limit = begun + seconds, seconds
        try:
            self._before = self._described(self._copies.make())
            old = self._run(self.old)
            if old.error:
                return {
                    **counts,
                    "why": f"the old code raises {old.error_text} on the given arguments",
                    "raises": not old.refused,
                }
            again = self._run(self.old)
            self._again = again.values
            self._unstable = set(_differing(old, again, self._before, self._known))
        except leaves.TooMany as many:
            return {**counts, "why": str(many)}
        except TooLong:
            return {**counts, "why": f"a call takes longer than {seconds:g} s"}
        self._limit = 1.0 + 5 * (time.process_time() - begun)
        moving = [path for path in self._unstable if not _TIMES.search(path.lower())]
        if moving:
            return {**counts, "why": f"the old code does not repeat itself, in {moving[0]}"}
        found = self._compared(None, old)
        if found is None:
            why = "a version does not repeat itself, or does what cannot be repeated"
            return {**counts, "why": why}
        if isinstance(found, Difference):
            return {**counts, "differs": self._finding(None, found), "given": True}
        path = repr([sorted(values) for values in self._values[0]])
        if path in known:
            return {"known": True}
        counts.update({found: 1, "touched": int(self._touched), "path": path})
        smallest: tuple[Perturbation, Difference] | None = None
        waiting = collections.deque(perturbations(self._arguments(), self._names, self._near))
        # on a machine that does other things as well
        late = time.monotonic() + 2 * seconds
        while waiting and time.process_time() < end and time.monotonic() < late:
            each = waiting.popleft()
            found = self._perturbed(each)
            if isinstance(found, Difference):
                smallest = self._smallest(each, found, end)
                break
            counts[found or "skipped"] += 1
            counts["touched"] += found is not None and self._touched
            if found is None:
                # the old code may take some of it
                waiting.extend(each.halves())
        if smallest is None:
            return {**counts, "given": False}
        return {**counts, "differs": self._finding(*smallest), "given": False}

    def _smallest(
        self, perturbation: Perturbation, found: Difference, end: float
    ) -> tuple[Perturbation, Difference]:
        """The least of a perturbation for which the two versions still differ."""
        waiting = perturbation.smaller()
        late = time.monotonic() + 2 * SMALLER
        while waiting and time.process_time() < end + SMALLER and time.monotonic() < late:
            smaller = waiting.pop(0)
            less = self._perturbed(smaller)
            if isinstance(less, Difference):
                perturbation, found, waiting = smaller, less, smaller.smaller()
        return perturbation, found

    @staticmethod
    def _described(arguments: Arguments, unread: Any = None) -> Described:
        """What arguments consist of, all together."""
        found = Described()
        for name, value in arguments.items():
            found.add(leaves.described(value, name, unread=unread))
        return found

    def _arguments(self) -> Arguments:
        made: Arguments = self._copies.make()
        return Arguments({n: v for n, v in made.items() if n not in self._fixed})

    def _perturbed(self, perturbation: Perturbation) -> Any:
        """What comes of a perturbation; None: the old code does not take the arguments."""
        try:
            old = self._run(self.old, perturbation)
        except (TooLong, NotApplied, leaves.TooMany):
            return None
        return self._compared(perturbation, old) if old.sound(self._before) else None

    def _compared(self, perturbation: Perturbation | None, old: _Outcome) -> Any:
        """``SAME``, ``CLOSE``, or the difference; None: the old code does not repeat itself."""
        try:
            new = self._run(self.new, perturbation)
        except TooLong:
            took = f"{self._limit:.1f} s"
            return Difference("CPU time of the call", f"less than {took}", f"more than {took}")
        if new.refused:
            return None
        values = old.values, new.values
        if perturbation is None:
            # what the old code does not read again is no evidence
            self._values = values, (self._again, new.values)
        self._touched = values_read.changed(*self._values, values)
        found = self._difference(old, new)
        if found is None:
            return SAME
        try:
            if self._rounds(perturbation, found):
                return CLOSE
            # what differs from itself, such as by the order of a set, is no difference of the new
            if self._difference(old, self._run(self.old, perturbation)) is not None:
                return None
        except (TooLong, NotApplied):
            return None

        def same(code: Code) -> bool:
            # the new code is not there any more, to be repeated in double precision
            other = self._difference(self._run(code, perturbation), new)
            return other is None or (other.rounding and self._spreads(code, perturbation, other))

        # what moved from one changed function into another differs in neither of them alone
        return SAME if self._joint(same) else found

    def _difference(self, old: _Outcome, new: _Outcome) -> Difference | None:
        differing = _differing(old, new, self._before, self._known)
        for path in self._unstable:
            # a time, whose kind stays
            one, other = differing.get(path, (None, None))
            if one is not None and other is not None and one[0] == other[0]:
                del differing[path]
        return _first(differing)

    def _run(
        self, code: Code, perturbation: Perturbation | None = None, change: Any = None
    ) -> _Outcome:
        """Call one version on a new copy of the arguments."""
        arguments = self._copies.make()
        try:
            if perturbation is not None:
                perturbation.apply(arguments)
            if change is not None:
                leaves.changed(arguments, change)
        except Exception as why:  # of a class that has its own idea of its attributes
            raise NotApplied(str(why)) from None
        before = {name: self._variables[name] for name in self._globals}
        self._variables.update({name: arguments[f"global {name}"] for name in self._globals})
        self._states.set()
        writings = written_by_calls.current
        if writings is not None:
            writings.begin()
        result, error, error_text = None, "", ""
        watch = Watch(getattr(code.function, "__code__", None), code.differing)
        handed = HandedLocals(self._read)
        try:
            with handed, _at_most(self._limit), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = watch.run(code.call, arguments)
        except TooLong:
            raise
        except BaseException as raised:  # whatever either version raises is what it does
            error = type(raised).__qualname__
            error_text = f"{error}: {raised}".split("\n")[0][:200]
        finally:
            states = self._states.described()
            arguments.update({f"global {n}": self._variables.get(n) for n in self._globals})
            self._variables.update(before)
            self._states.set()
        # fluent methods return their object, which is described as an argument
        others = {id(v): n for n, v in arguments.items() if leaves.leaf(v) is None}
        found = leaves.described(result, RESULT, others, handed.unread)
        with bindings.meanwhile(code.bound):
            found.update(_gradients(result, arguments))
        found.add(self._described(arguments, handed.unread))
        found.update(states)
        if writings is None:
            return _Outcome(error, error_text, found, watch.values)
        found.update(writings.leaves())
        if writings.refused:
            # whatever the code has made of the error
            error = "PermissionError"
            error_text = f"{error}: a repeated call does not do {writings.refused}"
        return _Outcome(error, error_text, found, watch.values, writings.refused)

    def _rounds(self, perturbation: Perturbation | None, found: Difference) -> bool:
        """Whether rounding alone explains a difference."""
        if not (found.rounding or found.flips):
            return False
        doubled = self._doubled(perturbation, found)
        if doubled is not None or not found.rounding:
            return bool(doubled)
        return self._spreads(self.old, perturbation, found)

    def _spreads(self, old: Code, perturbation: Perturbation | None, found: Difference) -> bool:
        """Whether the old code differs as far where its numbers are one unit away."""
        spread: dict[str, float] = {}
        for number in range(REPEATS):
            draw = np.random.Generator(np.random.PCG64(number))
            moved = self._run(old, perturbation, lambda value, d=draw: leaves.one_unit(value, d))
            for path, (before, _) in found.numbers.items():
                after = moved.leaves.get(path, (None, None))[1]
                if isinstance(after, np.ndarray) and after.shape == before.shape:
                    spread[path] = max(spread.get(path, 0.0), _largest(before, after))
        return all(
            _largest(before, after)
            <= FURTHER * (spread.get(path, 0.0) + np.finfo(before.dtype).eps * _size(before))
            for path, (before, after) in found.numbers.items()
        )

    def _doubled(self, perturbation: Perturbation | None, found: Difference) -> bool | None:
        """The same in double precision; None: it cannot be had, or says nothing."""
        if self._copies.shares:
            # numbers of another size do not lie in the same memory
            return None
        with _in_double():
            old, new = (self._run(code, perturbation, _double) for code in (self.old, self.new))
        if old.error or new.error:
            return None
        left = self._difference(old, new)
        if left is None:
            return True
        unit = float(np.finfo(np.float32).eps)
        vanished = left.rounding and all(
            _largest(*doubled) <= _VANISHED * max(_largest(*single), unit * _size(single[0]))
            for path, doubled in left.numbers.items()
            for single in (found.numbers.get(path, doubled),)
        )
        # of what is cast to single precision inside, or was in double before, it says nothing
        single = [path for path, (array, _) in found.numbers.items() if array.dtype == np.float32]
        kinds = [getattr(old.leaves.get(path, ("",))[-1], "dtype", None) for path in single]
        return vanished or (False if single and set(kinds) == {np.dtype(np.float64)} else None)

    def _finding(self, perturbation: Perturbation | None, found: Difference) -> dict[str, Any]:
        given = "arguments of a training"
        words = given if perturbation is None else perturbation.words(self._arguments())
        return {"arguments": words, "path": found.path, "old": found.old, "new": found.new}


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise ``TooLong`` after so many seconds of CPU time."""

    def late(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _listed(value: Any) -> Any:
    if isinstance(value, types.GeneratorType):
        return Items(itertools.islice(value, _ITEMS))
    return value


class _States:
    """What a process has of its own: random generators, whether gradients are made, precision."""

    def __init__(self) -> None:
        self._random = random.getstate()
        self._numpy = np.random.get_state()
        self._torch = torch.get_rng_state()
        self._gradients = torch.is_grad_enabled()
        self._dtype = torch.get_default_dtype()

    def set(self) -> None:
        """As it was when this was made, but for the precision that is chosen meanwhile."""
        random.setstate(self._random)
        np.random.set_state(self._numpy)
        torch.set_rng_state(self._torch)
        torch.set_grad_enabled(self._gradients)
        torch.set_default_dtype(torch.float64 if _doubling else self._dtype)

    @staticmethod
    def described() -> dict[str, Any]:
        """As leaves, as it is now."""
        return {
            "draws from random": ("generator", hash(random.getstate())),
            "draws from numpy.random": ("generator", leaves.random_state(np.random.get_state())),
            "draws from torch": ("generator", torch.get_rng_state().numpy().tobytes()),
            "gradients enabled": ("bool", torch.is_grad_enabled()),
            "default precision": ("dtype", str(torch.get_default_dtype())),
        }


def _tensors(value: Any, deep: int, beside: Sequence[Any] = ()) -> list[torch.Tensor]:
    """Those with a gradient in a value, each once.

    Args:
        deep: levels that are looked through.
        beside: what is not looked into.
    """
    found: dict[int, torch.Tensor] = {}
    excluded = {id(tensor) for tensor in beside}

    def visit(thing: Any, depth: int) -> None:
        if isinstance(thing, torch.Tensor):
            if thing.requires_grad and thing.dtype.is_floating_point:
                found[id(thing)] = thing
        elif depth < deep and id(thing) not in excluded and leaves.leaf(thing) is None:
            excluded.add(id(thing))
            for _, part in leaves.children(thing):
                visit(part, depth + 1)

    visit(value, 0)
    return list(found.values())


def _gradients(result: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Path -> gradient of a fixed weighting of the results, for each tensor that was given."""
    results = _tensors(result, _DEEP_RESULT, list(arguments.values()))
    # of what comes from others a gradient goes to these
    given = _tensors(dict(arguments), _DEEP) if results else []
    tensors = [tensor for tensor in given if tensor.is_leaf]
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
        f"gradient {number} of the result": leaves.leaf(gradient)
        for number, gradient in enumerate(gradients)
    }


def _differing(
    old: _Outcome, new: _Outcome, before: Described, known: Collection[str]
) -> dict[str, tuple[Any, Any]]:
    """Path -> both leaves, of those that are not equal to the bit.

    Args:
        before: the arguments.
        known: names in the new version's file.
    """
    found: dict[str, tuple[Any, Any]] = {}
    # what only new code sets as an attribute, only new code reads
    fresh, gone = (
        [path for path in these.attributes if path not in before and path not in those]
        for these, those in ((new.leaves, old.leaves), (old.leaves, new.leaves))
    )
    left = [path for path in gone if path.rpartition(".")[2] not in known]
    renamed = _renamed(old.leaves, new.leaves, left, fresh)
    for path in [*old.leaves, *(path for path in new.leaves if path not in old.leaves)]:
        one, other = old.leaves.get(path), new.leaves.get(path)
        if (one is None and _below(path, fresh)) or (other is None and _below(path, renamed)):
            continue
        if one is None or other is None or not _equal(one, other):
            found[path] = one, other
    if old.error != new.error:
        found = {"error": (("error", old.error_text), ("error", new.error_text)), **found}
    return found


def _renamed(
    old: Described, new: Described, gone: Sequence[str], fresh: Sequence[str]
) -> list[str]:
    """Private attributes that the new code sets under another name: their old paths.

    The words of one name are among those of the other, and the values are the same.

    Args:
        gone, fresh: paths of attributes that only one version sets.
    """
    left, found = list(fresh), []
    for path in gone:
        for candidate in left:
            if _means_the_same(path, candidate) and _held(old, path) == _held(new, candidate):
                left.remove(candidate)
                found.append(path)
                break
    return found


def _means_the_same(first: str, second: str) -> bool:
    (above, _, name), (above_other, _, name_other) = first.rpartition("."), second.rpartition(".")
    words, words_other = set(name.split("_")), set(name_other.split("_"))
    private = name.startswith("_") and name_other.startswith("_")
    return above == above_other and private and (words <= words_other or words_other <= words)


def _held(leaves_: Described, path: str) -> dict[str, Any]:
    """What an attribute consists of, by what leads to it from there."""
    below = {
        file_path[len(path) :]: leaf
        for file_path, leaf in leaves_.items()
        if _below(file_path, [path])
    }
    return {
        where: (leaf[0], leaf[1].dtype, leaf[1].shape, leaf[1].tobytes())
        if isinstance(leaf[1], np.ndarray)
        else leaf
        for where, leaf in below.items()
    }


def _below(path: str, fresh: Sequence[str]) -> bool:
    """Whether a path is one of others, or leads further."""
    return any(path == value or path.startswith((f"{value}.", f"{value}[")) for value in fresh)


def _equal(first: Any, second: Any) -> bool:
    if first[0] != second[0] or type(first[1]) is not type(second[1]):
        return False
    if not isinstance(first[1], np.ndarray):
        return bool(first[1] == second[1])
    if first[1].shape != second[1].shape or first[1].dtype != second[1].dtype:
        return False
    return bool(np.array_equal(first[1], second[1], equal_nan=first[1].dtype.kind == "f"))


def _first(differing: dict[str, tuple[Any, Any]]) -> Difference | None:
    if not differing:
        return None
    numbers: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    hard = []
    flips = True
    for path, (first, second) in differing.items():
        same = _are_same(first, second)
        if same and first[1].dtype.kind == "f" and _have_same_finite(first[1], second[1]):
            numbers[path] = first[1], second[1]
        else:
            hard.append(path)
            flips = flips and same
    # another type says more than another number, and an error more than that nothing is returned
    retyped = [path for path in hard if _are_retyped(*differing[path])]
    path = ((hard if "error" in differing else retyped) or hard or list(numbers))[0]
    first, second = differing[path]
    words = _words(first, second)
    return Difference(path, words[0], words[1], not hard, bool(hard) and flips, numbers)


def _are_retyped(first: Any, second: Any) -> bool:
    """Whether two leaves are values of another type or shape."""
    arrays = [leaf is not None and isinstance(leaf[1], np.ndarray) for leaf in (first, second)]
    return any(arrays) and None not in (first, second) and not _are_same(first, second)


def _are_same(first: Any, second: Any) -> bool:
    """Whether two leaves are numbers of one kind and shape."""
    return (
        first is not None
        and second is not None
        and first[0] == second[0]
        and all(isinstance(value[1], np.ndarray) for value in (first, second))
        and first[1].shape == second[1].shape
        and first[1].dtype == second[1].dtype
    )


def _have_same_finite(first: np.ndarray, second: np.ndarray) -> bool:
    return all(np.array_equal(f(first), f(second)) for f in (np.isnan, np.isposinf, np.isneginf))


def _words(first: Any, second: Any) -> tuple[str, str]:
    """Two leaves, each as far as it says how they differ."""
    if first is None or second is None:
        return ("nothing" if first is None else first[0]), (
            "nothing" if second is None else second[0]
        )
    arrays = [isinstance(value[1], np.ndarray) for value in (first, second)]
    if not all(arrays):
        return tuple(  # type: ignore[return-value]
            value[0]
            if array or value[0] == "generator"
            else (f"{value[0]} {value[1]}"[:120] if value[1] else "none")
            for value, array in zip((first, second), arrays, strict=False)
        )
    if first[0] != second[0] or first[1].shape != second[1].shape:
        return first[0], second[0]
    with np.errstate(all="ignore"):
        unequal = ~((first[1] == second[1]) | ((first[1] != first[1]) & (second[1] != second[1])))
    places = np.argwhere(unequal)[:_PRINTED] if first[1].ndim else [()]
    return tuple(  # type: ignore[return-value]
        ", ".join(f"{value[1][tuple(place)]:.9g}" if value[1].dtype.kind == "f"
                  else str(value[1][tuple(place)]) for place in places)
        for value in (first, second)
    )  # fmt: skip


#: whether torch makes numbers of double precision.
_doubling = False


@contextlib.contextmanager
def _in_double() -> Iterator[None]:
    """Let torch make and cast to numbers of double precision where it would make single ones."""
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


def _double(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype == torch.float32 else None
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.float32:
        return value.astype(np.float64)
    return None


def _largest(first: np.ndarray, second: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        gap = np.abs(second.astype(np.float64) - first.astype(np.float64))
    # NaN of NaN, and of two that are infinite
    return float(gap[~np.isnan(gap)].max(initial=0.0))


def _size(array: np.ndarray) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max(initial=0.0))

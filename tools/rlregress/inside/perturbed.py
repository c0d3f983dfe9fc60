"""Perturbed arguments of a call: numbers are changed, and options get other values.

Booleans stay boolean, and indices within the values that were observed: arguments that no caller
may pass prove nothing. An option that is a text or None gets other values that its signature or its
documentation names.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import random
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from rlregress.inside import leaves
from rlregress.inside.events import convert_to_array
from rlregress.probing.option_variants import list_other_values
from rlregress.probing.signatures import list_parameters_with_inherited

#: how many entries of one container, and how many levels of objects, are changed one by one.
_ENTRIES, _LEVELS = 16, 4
#: limits: groups of targets changed together in the same way; perturbations that change many
#: targets, each in its own way; targets that are named in a sentence.
_GROUPS, _AT_ONCE, _NAMED_VALUES = 8, 24, 3
#: how many perturbations of values that the differing lines read come before all others.
_FIRST = 16
#: packages whose spaces are arguments: of these only attributes that the code reads are changed.
_SPACES = ("gymnasium", "gym")
#: torch modules that keep their parts under generated names, which no code reads.
_CONTAINERS = (
    torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.ParameterList,
    torch.nn.ParameterDict,
)  # fmt: skip
#: finds names of arrays that hold only 0 and 1, whatever their type.
_FLAG = re.compile(r"done|termina|trunca|timeout|mask|start|reset|first|alive|valid|bool|is_|flag")
_Numbers = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _replace_every_second(array: np.ndarray, number: Any) -> np.ndarray:
    every_second = (np.arange(array.size) % 2).astype(bool).reshape(array.shape)
    return np.where(every_second, number, array)


def _change_magnitudes_and_signs(array: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return array * 10.0 ** draw.uniform(-3, 3, array.shape) * draw.choice([-1, 1], array.shape)


#: change in words -> function from the numbers of one array to others.
_FLAGS: dict[str, _Numbers] = {
    "inverted": lambda x, _: 1 - x,
    "all 1": lambda x, _: np.ones_like(x),
    "all 0": lambda x, _: np.zeros_like(x),
    "alternately 0 and 1": lambda x, _: _replace_every_second(np.zeros_like(x), 1),
}
_WHOLE: dict[str, _Numbers] = {
    "all 0": lambda x, _: np.zeros_like(x),
    "in the reverse order": lambda x, _: x.reshape(-1)[::-1].reshape(x.shape),
    "all as its first": lambda x, _: np.full_like(x, x.reshape(-1)[0]),
}
_FLOATS: dict[str, _Numbers] = {
    "times 100": lambda x, _: 100 * x,
    "all 0": lambda x, _: np.zeros_like(x),
    "negated": lambda x, _: -x,
    "all 1": lambda x, _: np.ones_like(x),
    "times -10000": lambda x, _: -1e4 * x,
    "times 0.01": lambda x, _: 0.01 * x,
    "alternately 0": lambda x, _: _replace_every_second(x, 0),
    "plus 1": lambda x, _: x + 1,
    "of other magnitudes": _change_magnitudes_and_signs,
}
#: of single numbers: a sign is kept, as of a rate or a size.
_NUMBERS: dict[str, dict[str, _Numbers]] = {
    "f": {
        "0": lambda x, _: 0 * x,
        "1": lambda x, _: 0 * x + 1,
        "times 0.01": lambda x, _: 0.01 * x,
        "half": lambda x, _: x / 2,
        "times 100": lambda x, _: 100 * x,
        "plus 0.1": lambda x, _: x + 0.1,
    },
    "i": {
        "one more": lambda x, _: x + 1,
        "2": lambda x, _: 0 * x + 2,
        "1": lambda x, _: 0 * x + 1,
        "5": lambda x, _: 0 * x + 5,
        "3": lambda x, _: 0 * x + 3,
        "doubled": lambda x, _: 2 * x,
        "0": lambda x, _: 0 * x,
    },
}


def add_perturbations_around_bounds(bounds: Collection[float]) -> None:
    """Add perturbations that set numbers to values between some bounds, and beyond them.

    This lasts for the rest of the process: one call is examined in each.
    """
    sizes = sorted({abs(bound) for bound in bounds if math.isfinite(bound) and bound})
    if not sizes:
        return
    middle, beyond = (sizes[0] + sizes[-1]) / 2, 2 * sizes[-1]
    for table in (_FLOATS, _NUMBERS["f"]):
        table[f"{middle:g}"] = lambda x, _: 0 * x + middle
        table[f"{beyond:g}"] = lambda x, _: 0 * x + beyond
    _FLOATS[f"-{middle:g}"] = lambda x, _: 0 * x - middle
    _FLOATS[f"-{beyond:g}"] = lambda x, _: 0 * x - beyond


class Target(NamedTuple):
    """A part of the arguments that is changed.

    Attributes:
        labels: the name of the argument, then the attributes and keys that lead to the part.
        size: how many numbers are in the part.
        whole: the part is an object. Only its arrays and tensors are changed, as its other numbers
            are mostly sizes and positions.
        flag: the part is boolean.
        options: values that replace the part; empty: its numbers are changed.
    """

    labels: tuple[str, ...]
    size: int
    whole: bool = False
    flag: bool = False
    options: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return "".join(self.labels)

    def is_named(self, names: set[str]) -> bool:
        """Return whether the part's last label (attribute, key or argument) is in ``names``."""
        return self.labels[-1].strip(".[]'") in names

    def change_part(self, value: Any, number: int, words: list[str]) -> Any:
        """Apply the change of index ``number`` to a value, and return it; objects change in place.

        Args:
            words: a description of each changed number, array or tensor is added to it.
        """
        if self.options:
            option = self.options[number % len(self.options)]
            words.append(repr(option))
            return option
        draw = np.random.Generator(np.random.PCG64(number))

        def change_leaf(part: Any) -> Any:
            if self.whole and not leaves.is_array(part):
                return None
            table = _choose_changes_of_numbers(part, str(self))
            if table is None:
                return None
            name, replace = list(table.items())[number % len(table)]
            words.append(name)
            return _replace_numbers(part, replace, draw)

        return leaves.change_numbers_in_place(value, change_leaf)


class Perturbation(NamedTuple):
    """Changes of several parts of the arguments.

    Attributes:
        changes: (part, index of its change in the list for its kind) pairs.
    """

    changes: tuple[tuple[Target, int], ...]

    def split_in_halves(self) -> list[Perturbation]:
        """Return two perturbations with half of the changes each; none for a single change."""
        middle = len(self.changes) // 2
        halves = self.changes[:middle], self.changes[middle:]
        return [Perturbation(half) for half in halves] if middle else []

    def list_smaller_perturbations(self) -> list[Perturbation]:
        """Return perturbations with half of the changes, then with all changes but one."""
        count = len(self.changes)
        without = [self.changes[:n] + self.changes[n + 1 :] for n in range(count)]
        return self.split_in_halves() + [Perturbation(change) for change in without if count > 2]

    def change_arguments(self, arguments: dict[str, Any]) -> None:
        """Change arguments in place."""
        for target, number in self.changes:
            _change_argument(arguments, target, number)

    def describe_changes(self, arguments: dict[str, Any]) -> str:
        """Describe the changes: the first ones by name, the number of the others."""
        described = []
        for target, number in self.changes[:_NAMED_VALUES]:
            words = _change_argument(arguments, target, number)
            described.append(f"{target} {words[0] if words else 'as it was'}")
        count = len(self.changes) - len(described)
        return ", ".join(described) + (f" and {count} more" if count else "")


def list_text_and_none_targets(called: Any, arguments: dict[str, Any]) -> list[Target]:
    """Return arguments and attributes of ``self`` that are text or None, with values to try.

    Values for an attribute are those of the constructor's parameter with the same name.

    Args:
        called: the function; for a constructor, its class.
    """
    owner = arguments.get("self")
    options = list(_list_targets_of_owner(called, (), arguments))
    if owner is not None:
        with contextlib.suppress(TypeError, ValueError):
            options += _list_targets_of_owner(
                type(owner), ("self",), leaves.list_own_attributes(owner)
            )
    return options


def _list_targets_of_owner(
    called: Any, owner: tuple[str, ...], values: dict[str, Any]
) -> Iterator[Target]:
    for name, parameter in list_parameters_with_inherited(called).items():
        value = values.get(name, 0)
        if value is None or isinstance(value, str):
            options = list_other_values(called, parameter.replace(default=value))
            label = f".{name}" if owner else name
            if options:
                yield Target((*owner, label), 1, options=tuple(options))


def list_perturbations(
    arguments: dict[str, Any], names: set[str], near: set[str], options: Sequence[Target] = ()
) -> Iterator[Perturbation]:
    """Yield perturbations of arrays, of single numbers, and of a few of both, in turn.

    Args:
        names: of attributes that the code reads.
        near: names in the lines that differ, and names that these are computed from.
        options: see ``list_text_and_none_targets``.
    """
    listed_targets = [
        t for name, value in arguments.items() for t in _list_parts_to_change(value, (name,), names)
    ]
    targets = [*dict.fromkeys(listed_targets)]
    arrays = [target for target in targets if target.size > 1 and not target.whole]
    single = [target for target in targets if target.size == 1 and not target.flag]
    apart = max(1, min(_GROUPS, len(targets)))
    # single numbers such as sizes and rates first: a fixed one hides more code than any array does
    nearest = [target for target in single if len(target.labels) == 1 or target.is_named(near)]
    named = [target for target in (*single, *arrays) if target.is_named(near)]
    flags = [target for target in targets if target.flag and target.is_named(near)]
    yield from (Perturbation(((flag, 0),)) for flag in flags[:_GROUPS])
    for option in options:
        if option.labels[0] in arguments and option.is_named(names | near | arguments.keys()):
            yield from (Perturbation(((option, n),)) for n in range(len(option.options)))
    foremost = [group for group in (nearest, named) if len(group) > 1]
    for number in range(_FIRST):
        yield from (_mix_changes(group, number) for group in foremost[: 1 + (nearest != named)])
    rows = [
        [Perturbation(tuple((target, number) for target in targets[first::apart]))
         for number in range(len(_FLOATS)) for first in range(apart)],
        [_mix_changes(single, number) for number in range(_AT_ONCE)] if len(single) > 1 else [],
        [Perturbation(tuple((array, number) for array in arrays)) for number in range(len(_FLOATS))]
        + [_mix_changes(arrays, number) for number in range(_AT_ONCE)] if len(arrays) > 1 else [],
        # a part of the targets at a time, larger with each perturbation
        [_mix_changes(targets[n % 3 :: _AT_ONCE - n], n) for n in range(_AT_ONCE)]
        if len(targets) > 1 else [],
    ]  # fmt: skip
    for turn in itertools.zip_longest(*rows):
        yield from (
            perturbation
            for perturbation in turn
            if perturbation is not None and perturbation.changes
        )


def _mix_changes(targets: Sequence[Target], number: int) -> Perturbation:
    """Return a perturbation that changes each target, in different ways."""
    ways = [random.Random(f"{number} {target}").randrange(1000) for target in targets]
    return Perturbation(tuple(zip(targets, ways, strict=False)))


class Arguments(dict[str, Any]):
    """The arguments of a call, by name."""


def _list_parts_to_change(
    value: Any, labels: tuple[str, ...], names: set[str], level: int = 0
) -> Iterator[Target]:
    """Yield the parts of a value to change one by one, the whole value last."""
    if leaves.is_array(value) or isinstance(value, (bool, int, float, np.generic)):
        if _choose_changes_of_numbers(value, labels[-1]):
            flag = isinstance(value, bool)
            yield Target(labels, int(np.prod(np.shape(value))), flag=flag)
        return
    if (
        level >= _LEVELS
        or isinstance(value, leaves.CODE)
        or leaves.describe_leaf(value) is not None
    ):
        return
    space = type(value).__module__.partition(".")[0] in _SPACES
    parts = leaves.list_labelled_parts(value)
    attributes = [part for part in parts if part[0].startswith(".")]
    items = [part for part in parts if not part[0].startswith(".")]
    if isinstance(value, _CONTAINERS):
        items += [part for part in attributes if leaves.is_array(part[1])
                  or isinstance(part[1], torch.nn.Module)]  # fmt: skip
    # of an object that the code passes on, such as a buffer, all arrays
    read = [(label, part) for label, part in attributes
            if label[1:] in names or (level and not space and leaves.is_array(part))]  # fmt: skip
    for label, part in [*items[:_ENTRIES], *read[: 4 * _ENTRIES]]:
        yield from _list_parts_to_change(part, (*labels, label), names, level + 1)
    if level and not space:
        sizes: list[int] = []

        def note_size(part: Any) -> None:
            if leaves.is_array(part):
                sizes.append(int(np.prod(np.shape(part))))

        leaves.change_numbers_in_place(value, note_size)
        if sum(sizes):
            yield Target(labels, sum(sizes), whole=True)


def _change_argument(arguments: dict[str, Any], target: Target, number: int) -> list[str]:
    """Change a part of the arguments in place; return descriptions of the changes."""
    words: list[str] = []
    _change_labelled_part_in_place(
        arguments, target.labels, functools.partial(target.change_part, number=number, words=words)
    )
    return words


def _change_labelled_part_in_place(
    value: Any, labels: tuple[str, ...], change: Callable[[Any], Any]
) -> Any:
    """Change the part of a value that labels lead to; return the changed value."""
    if not labels:
        return change(value)
    is_call = isinstance(value, Arguments)
    for label, part in value.items() if is_call else leaves.list_labelled_parts(value):
        if label == labels[0]:
            changed = _change_labelled_part_in_place(part, labels[1:], change)
            return value if changed is part else leaves.replace_part(value, label, changed)
    return value


def _choose_changes_of_numbers(value: Any, name: str) -> dict[str, _Numbers] | None:
    """Return the possible changes of a number, an array or a tensor; None: there are none."""
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bool:
            return _FLAGS
        if not leaves.has_numbers(value):
            return None
        if value.dtype.is_complex or value.is_sparse or value.is_quantized or not value.numel():
            return None
        array = convert_to_array(value)
    else:
        array = np.asarray(value)
    if array.dtype.kind not in "biuf" or not array.size:
        return None
    if array.dtype.kind == "b" or _FLAG.search(name.rpartition(".")[2].lower()):
        return _FLAGS
    if array.ndim and array.size > 1 and set(np.unique(array[:1000])) == {0, 1}:
        return _FLAGS
    # a tensor under a key is data; as an attribute it is a constant of its object
    if not array.ndim and not (leaves.is_array(value) and name.endswith("]")):
        if array.dtype.kind == "f" and name.isidentifier():
            # an argument of the call itself may be anything
            return _FLOATS
        return _NUMBERS["f" if array.dtype.kind == "f" else "i"]
    return _FLOATS if array.dtype.kind == "f" else _WHOLE


def _replace_numbers(value: Any, numbers: _Numbers, draw: np.random.Generator) -> Any:
    array = convert_to_array(value) if isinstance(value, torch.Tensor) else np.asarray(value)
    with np.errstate(all="ignore"):
        replaced = numbers(array.astype(np.float64) if array.dtype.kind == "b" else array, draw)
    if isinstance(value, torch.Tensor):
        return torch.from_numpy(np.array(replaced)).to(value.dtype).reshape(value.shape)
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(replaced).astype(value.dtype).reshape(np.shape(value))[()]
    return type(value)(replaced)

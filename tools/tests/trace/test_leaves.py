"""The leaves of a value tell apart what does something else, and only that."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rlregress.inside import leaves


def make_scaled(factor: float) -> Callable[[float], float]:
    """Return a schedule."""

    def schedule(progress: float) -> float:
        return progress * factor

    return schedule


def make_shifted(factor: float) -> Callable[[float], float]:
    """Return another schedule of the same name."""

    def schedule(progress: float) -> float:
        return progress * factor + 1

    return schedule


def make_explained(factor: float) -> Callable[[float], float]:
    """Return the schedule of ``make_scaled`` with a docstring."""

    def schedule(progress: float) -> float:
        """Scale the progress."""
        return progress * factor

    return schedule


def advanced(items: list[int]) -> Any:
    """Return an iterator after its first item."""
    iterator = iter(items)
    next(iterator)
    return iterator


def named_schedule(function: Callable[[float], float]) -> Callable[[float], float]:
    """Return a function under the name that it has in both versions."""
    function.__qualname__ = "make.<locals>.schedule"
    return function


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        (named_schedule(make_scaled(2)), named_schedule(make_shifted(2)), False),
        (named_schedule(make_scaled(2)), named_schedule(make_scaled(3)), False),
        (named_schedule(make_scaled(2)), named_schedule(make_explained(2)), True),
        (iter([1, 2]), advanced([1, 2]), False),
        (advanced([1, 2]), advanced([1, 2]), True),
        (zip([1], [2], strict=False), zip([1], [3], strict=False), False),
        (map(abs, [1]), map(abs, [2]), False),
        (itertools.count(3), itertools.count(4), False),
        (itertools.cycle([1, 2]), itertools.cycle([1, 2]), True),
    ],
)
def test_a_function_is_its_code_and_an_iterator_what_is_left_of_it(
    old: object, new: object, equal: bool
) -> None:
    """Neither shows it by a name or an attribute."""
    by_version = [leaves.list_leaves({"result": value}, "it") for value in (old, new)]
    same = by_version[0].keys() == by_version[1].keys() and all(
        kind == by_version[1][path][0] and np.array_equal(content, by_version[1][path][1])
        for path, (kind, content) in by_version[0].items()
    )
    assert same is equal

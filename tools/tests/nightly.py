"""Cases of which every night runs all, and every commit some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from tests_behavior.every_commit import is_shown


def every(nth: int, cases: Sequence[Any], name: Callable[[Any], str] = str) -> list[Any]:
    """Each case as a parameter; all but the first and every nth from there are nightly.

    A tuple is a case of several arguments.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=name(case),
            marks=pytest.mark.nightly if number % nth else (),
        )
        for number, case in enumerate(cases)
    ]


def all_frameworks(
    cases: Iterable[Any], framework: Callable[[Any], str] = str, name: Callable[[Any], str] = str
) -> list[Any]:
    """Each case as a parameter; nightly are those that one code path shows of others."""
    return [
        pytest.param(
            case, id=name(case), marks=() if is_shown(framework(case)) else pytest.mark.nightly
        )
        for case in cases
    ]

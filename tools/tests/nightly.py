"""Cases of which every night runs all, and every commit some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest


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

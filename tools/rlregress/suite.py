"""Where the suite's data lies: ``baselines/`` beside the tests."""

from __future__ import annotations

from pathlib import Path

from rlregress.errors import UserError

_MARKS = ("baselines", "tests_unit", "tests_behavior", "tests_performance")


def root() -> Path:
    """The top of the checkout: the nearest folder above this file, or above the current one,
    that holds the suite's tests and baselines."""
    for start in (Path(__file__).resolve(), Path.cwd().resolve() / "here"):
        for folder in start.parents:
            if all((folder / mark).is_dir() for mark in _MARKS):
                return folder
    raise UserError(
        "the suite's folders baselines/ and tests_*/ were not found above the current folder; "
        "run rlregress from a checkout of its repository"
    )


def baselines() -> Path:
    """The folder of expectations."""
    return root() / "baselines"

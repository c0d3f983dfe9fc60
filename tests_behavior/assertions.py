"""Claims about an agent trained in a toy environment; each fails with one sentence.

``who`` names the framework and the algorithm. Every claim raises AssertionError if it is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tests_behavior.counter import ENVIRONMENT, EPISODE, STEP


def _spelled(values: object) -> str:
    array = np.asarray(values)
    if array.dtype.kind == "b":
        array = array.astype(int)
    if array.dtype.kind == "f" and np.all(np.isfinite(array)):
        array = array.astype(np.float64).round(2) + 0.0
        if np.all(array == array.astype(int)):
            array = array.astype(int)
    return str(array.tolist())


def assert_values_near(
    who: str, setting: str, found: np.ndarray, expected: float | np.ndarray, tolerance: float
) -> None:
    """The learned values [n] are all within ``tolerance`` of the true ones, number or [n]."""
    __tracebackhide__ = True
    errors = np.abs(np.asarray(found, dtype=np.float64) - expected)
    if found.size and np.all(errors <= tolerance):
        return
    raise AssertionError(
        f"{who}, {setting}: expected the values {_spelled(expected)} within {tolerance:g}, "
        f"found {_spelled(found)}, up to {errors.max(initial=0.0):.3g} away"
    )


def assert_values_far(
    who: str, setting: str, found: np.ndarray, wrong: float | np.ndarray, distance: float
) -> None:
    """The learned values [n] are all more than ``distance`` away from wrong ones, number or [n]."""
    __tracebackhide__ = True
    distances = np.abs(np.asarray(found, dtype=np.float64) - wrong)
    if found.size and np.all(distances > distance):
        return
    raise AssertionError(
        f"{who}, {setting}: expected values more than {distance:g} away from {_spelled(wrong)}, "
        f"found {_spelled(found)}"
    )


def assert_stored(
    who: str, what: str, found: np.ndarray | None, expected: Sequence[object] | None
) -> None:
    """Exactly the expected rows are stored; None for a field that is not stored at all."""
    __tracebackhide__ = True
    if found is None and expected is None:
        return
    if found is None or expected is None or not np.array_equal(found, np.asarray(expected)):
        spelled = [
            "nothing" if rows is None else f"{what} {_spelled(rows)}" for rows in (expected, found)
        ]
        raise AssertionError(f"{who}: expected {spelled[0]} to be stored, found {spelled[1]}")


def assert_rows_belong_together(
    who: str, observations: np.ndarray, next_observations: np.ndarray | None
) -> None:
    """Each column has its own environment, and each step leads on in its own episode.

    Args:
        who: framework and algorithm.
        observations: of step counters, [rows, environments, 3].
        next_observations: of the same shape, or None if they are not stored.
    """
    __tracebackhide__ = True
    columns = observations.swapaxes(0, 1)
    numbers = [sorted(set(column[:, ENVIRONMENT].astype(int).tolist())) for column in columns]
    apart = len(set(map(tuple, numbers))) == len(numbers)
    if not apart or any(len(column) != 1 for column in numbers):
        raise AssertionError(
            f"{who}: expected every column to hold one environment of its own, "
            f"found the environments {numbers} in the columns"
        )
    for column in columns:
        for row, after in zip(column[:-1], column[1:], strict=True):
            goes_on = after[EPISODE] == row[EPISODE] and after[STEP] == row[STEP] + 1
            begins = after[EPISODE] == row[EPISODE] + 1 and after[STEP] == 0
            if not (goes_on or begins):
                raise AssertionError(
                    f"{who}: expected the observation after {_spelled(row)} (environment, "
                    f"episode, step) to be the next one of its environment, found {_spelled(after)}"
                )
    if next_observations is None:
        return
    expected = observations.copy()
    expected[..., STEP] += 1
    wrong = np.argwhere(np.any(next_observations != expected, axis=-1))
    if len(wrong):
        place = tuple(wrong[0])
        raise AssertionError(
            f"{who}: expected the next observation of {_spelled(observations[place])} "
            f"(environment, episode, step) to be {_spelled(expected[place])}, "
            f"found {_spelled(next_observations[place])}; {len(wrong)} of {expected[..., 0].size} "
            "rows are wrong"
        )


def _differing(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]) -> list[str]:
    names = sorted(set(first) | set(second))
    return [
        name
        for name in names
        if name not in first
        or name not in second
        or first[name].shape != second[name].shape
        or first[name].dtype != second[name].dtype
        or first[name].tobytes() != second[name].tobytes()
    ]


def assert_same_parameters(
    who: str, setting: str, first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]
) -> None:
    """Two trainings ended with the same parameters, to the bit."""
    __tracebackhide__ = True
    differing = _differing(first, second)
    if first and not differing:
        return
    if not first and not second:
        raise AssertionError(f"{who}, {setting}: expected parameters, found none")
    name = differing[0]
    numbers = [
        _spelled_number(parameters[name]) if name in parameters else "nothing"
        for parameters in (first, second)
    ]
    raise AssertionError(
        f"{who}, {setting}: expected parameters identical to the bit, found "
        f"{len(differing)} of {len(set(first) | set(second))} different, such as {name}: "
        f"it begins with {numbers[0]} in the first training and with {numbers[1]} in the second"
    )


def _spelled_number(parameter: np.ndarray) -> str:
    return f"{parameter.reshape(-1)[0]:.9g}" if parameter.size else "nothing"


def assert_other_parameters(
    who: str, setting: str, first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]
) -> None:
    """Two trainings did not end with the same parameters."""
    __tracebackhide__ = True
    if not _differing(first, second):
        raise AssertionError(
            f"{who}, {setting}: expected different parameters, found all {len(first)} identical "
            "to the bit"
        )

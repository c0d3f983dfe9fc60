"""Claims about an agent trained in a toy environment; each fails with one sentence.

``who`` names the framework and the algorithm. Every claim raises AssertionError if it is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from rlregress.probing.interface import Minibatch
from tests_behavior import clock, ladder
from tests_behavior.counter import ENVIRONMENT, EPISODE, STEP


def _format_array(values: object) -> str:
    array = np.asarray(values)
    if array.dtype.kind == "b":
        array = array.astype(int)
    if array.dtype.kind == "f" and np.all(np.isfinite(array)):
        array = array.astype(np.float64).round(2) + 0.0
        if np.all(array == array.astype(int)):
            array = array.astype(int)
    return str(array.tolist())


def assert_values_near(
    who: str, setting: str, observed: np.ndarray, expected: float | np.ndarray, tolerance: float
) -> None:
    """Assert that learned values [n] are within ``tolerance`` of the true ones, number or [n]."""
    __tracebackhide__ = True
    errors = np.abs(np.asarray(observed, dtype=np.float64) - expected)
    if observed.size and np.all(errors <= tolerance):
        return
    raise AssertionError(
        f"{who}, {setting}: expected the values {_format_array(expected)} within {tolerance:g}, "
        f"found {_format_array(observed)}, up to {errors.max(initial=0.0):.3g} away"
    )


def assert_stored(
    who: str, field: str, observed: np.ndarray | None, expected: Sequence[object] | None
) -> None:
    """Assert that a field is stored as expected; None: the field is not stored at all."""
    __tracebackhide__ = True
    if observed is None and expected is None:
        return
    if observed is None or expected is None or not np.array_equal(observed, np.asarray(expected)):
        spelled = [
            "nothing" if rows is None else f"{field} {_format_array(rows)}"
            for rows in (expected, observed)
        ]
        raise AssertionError(f"{who}: expected {spelled[0]} to be stored, found {spelled[1]}")


def assert_rows_belong_together(
    who: str, observations: np.ndarray, next_observations: np.ndarray | None
) -> None:
    """Assert that each column has one environment, and that its rows follow each other.

    Args:
        who: framework and algorithm.
        observations: of step counters, [rows, environments, 3].
        next_observations: of the same shape, or None if they are not stored.
    """
    __tracebackhide__ = True
    columns = observations.swapaxes(0, 1)
    numbers = [sorted(set(column[:, ENVIRONMENT].astype(int).tolist())) for column in columns]
    are_distinct = len(set(map(tuple, numbers))) == len(numbers)
    if not are_distinct or any(len(column) != 1 for column in numbers):
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
                    f"{who}: expected the observation after {_format_array(row)} (environment, "
                    "episode, step) to be the next one of its environment, found "
                    f"{_format_array(after)}"
                )
    if next_observations is None:
        return
    expected = observations.copy()
    expected[..., STEP] += 1
    wrong = np.argwhere(np.any(next_observations != expected, axis=-1))
    if len(wrong):
        place = tuple(wrong[0])
        raise AssertionError(
            f"{who}: expected the next observation of {_format_array(observations[place])} "
            f"(environment, episode, step) to be {_format_array(expected[place])}, found "
            f"{_format_array(next_observations[place])}; {len(wrong)} of {expected[..., 0].size} "
            "rows are wrong"
        )


#: rewards and returns are single precision
_CLOSE = 1e-4


def _describe_step(place: Sequence[float]) -> str:
    return f"the step of environment {place[0]:g} at time {place[1]:g}"


def assert_field(
    who: str, name: str, observations: np.ndarray, values: np.ndarray, expected: np.ndarray
) -> None:
    """Assert that a field of the rows of clocks, [rows, ...], is as expected."""
    __tracebackhide__ = True
    wrong = ~(np.abs(np.asarray(values, np.float64) - expected) < _CLOSE)
    rows = np.flatnonzero(wrong.reshape(len(observations), -1).any(axis=1))
    if len(rows):
        first = rows[0]
        raise AssertionError(
            f"{who}: expected the {name} of {_describe_step(observations[first])} to be "
            f"{_format_array(expected[first])}, found {_format_array(values[first])}; {len(rows)} "
            f"of {len(observations)} rows are wrong"
        )


def _assert_shown(
    who: str, observations: np.ndarray, steps: Mapping[tuple[float, float], bool]
) -> None:
    __tracebackhide__ = True
    unknown = [row for row in map(tuple, observations.astype(float)) if row not in steps]
    if unknown:
        raise AssertionError(
            f"{who}: expected only observations that the environments have shown, found "
            f"{_describe_step(unknown[0])}; {len(unknown)} of {len(observations)} rows are wrong"
        )


def _compute_rewards(rows: Minibatch) -> np.ndarray:
    # a policy that is not bounded is stored as it acts, and clipped on its way to the environment
    return rows.observations.sum(axis=1) + np.clip(rows.actions[:, 0], -1.0, 1.0)


def assert_transitions(
    who: str,
    rows: Minibatch,
    steps: Mapping[tuple[float, float], bool],
    terminates: bool,
    reset_is_next: bool = False,
) -> None:
    """Assert that all fields of a row are of the same step of the same clock.

    Args:
        who: framework and algorithm.
        rows: of clocks.
        steps: every (environment, time) that was met -> the step ends an episode.
        terminates: the ends are terminations.
        reset_is_next: the next observation of a terminated step is the one of the reset after it.
    """
    __tracebackhide__ = True
    observed = rows.observations
    _assert_shown(who, observed, steps)
    ends = np.array([steps[row] for row in map(tuple, observed.astype(float))])
    following = np.stack(
        [observed[:, clock.ENVIRONMENT], clock.get_next_time(observed[:, clock.TIME])], axis=1
    )
    if terminates and reset_is_next:
        following[ends, clock.TIME] -= clock.TICK / 2
    for name, values, expected in (
        ("reward", rows.rewards, _compute_rewards(rows)),
        ("next observation", rows.next_observations, following),
        ("end", rows.done, ends),
        ("termination", rows.terminated, ends & terminates),
    ):
        if values is not None:
            assert_field(who, name, observed, values, expected)


def assert_one_step_returns(
    who: str,
    rows: Minibatch,
    steps: Mapping[tuple[float, float], bool],
    discount: float,
    value_after_end: bool,
    value_before_end: bool = False,
) -> None:
    """Assert that each return is the reward of its step plus the discounted next value.

    The value of an observation is read from the rows, whose values must all be of one policy.
    Steps that led to a later time than any row of their environment are left out.

    Args:
        who: framework and algorithm.
        rows: of clocks, with a GAE lambda of 0.
        steps: every (environment, time) that was met -> the step ends an episode.
        discount: of the value.
        value_after_end: the value of the observation that ends an episode counts.
        value_before_end: so does, in its place, the value of the observation before the last step.
    """
    __tracebackhide__ = True
    _assert_shown(who, rows.observations, steps)
    assert rows.values is not None
    assert rows.returns is not None
    places = rows.observations.astype(float)
    values: dict[tuple[float, ...], float] = {}
    for row, value in zip(map(tuple, places), rows.values.astype(float), strict=True):
        if abs(values.setdefault(row, value) - value) >= _CLOSE:
            raise AssertionError(
                f"{who}: expected one value of {_describe_step(row)} as long as nothing is "
                f"learned, found {_format_array([values[row], value])}"
            )
    deviation = float(np.std(list(values.values())))
    if deviation < 100 * _CLOSE:
        raise AssertionError(
            f"{who}: expected values that tell observations apart, found a standard deviation of "
            f"{deviation:.2g}"
        )
    latest = {number: max(time for n, time in values if n == number) for number, _ in values}
    following = list(
        zip(
            places[:, clock.ENVIRONMENT],
            clock.get_next_time(places[:, clock.TIME]),
            strict=True,
        )
    )
    after = np.array([values.get(place, np.nan) for place in following])
    ends = np.array([steps[row] for row in map(tuple, places)])
    if value_before_end:
        after = np.where(ends, rows.values, after)
    expected = _compute_rewards(rows) + discount * np.where(~ends | value_after_end, after, 0.0)
    has_value = ~np.isnan(expected)
    for row, place in zip(places[~has_value], np.array(following)[~has_value], strict=True):
        if place[clock.TIME] <= latest[place[clock.ENVIRONMENT]]:
            raise AssertionError(
                f"{who}: expected a row with what {_describe_step(row)} led to, found none "
                f"among {len(places)}"
            )
    assert_field(who, "return", places[has_value], rows.returns[has_value], expected[has_value])


def assert_same_in_each_row(
    who: str,
    field: str,
    observed: np.ndarray | None,
    expected: np.ndarray | None,
    tolerance: float = _CLOSE,
) -> None:
    """Assert that two arrays that were computed separately are the same, float [rows] both."""
    __tracebackhide__ = True
    assert observed is not None
    assert expected is not None
    wrong = ~(np.abs(observed - expected) < tolerance)
    if wrong.any() or not observed.size:
        raise AssertionError(
            f"{who}: expected the {field} {_format_array(expected[wrong][:5])}, found "
            f"{_format_array(observed[wrong][:5])}; {wrong.sum()} of {len(observed)} rows are wrong"
        )


def assert_steps_read(who: str, rows: Minibatch, steps: Sequence[tuple[float, float]]) -> None:
    """Assert that each of the steps (environment, time) is among the rows."""
    __tracebackhide__ = True
    read = set(map(tuple, rows.observations.astype(float)))
    missed = [step for step in steps if step not in read]
    if missed:
        raise AssertionError(
            f"{who}: expected {_describe_step(missed[0])} to be read, found it in none of "
            f"{len(rows.observations)} rows; {len(missed)} of {len(steps)} steps are missed"
        )


def assert_steps_read_once(who: str, rows: Minibatch, steps: Sequence[tuple[float, float]]) -> None:
    """Assert that the rows are exactly the steps (environment, time), each of them once."""
    __tracebackhide__ = True
    assert_steps_read(who, rows, steps)
    read = Counter(map(tuple, rows.observations.astype(float)))
    read.subtract(steps)
    too_often = {place: extra for place, extra in read.items() if extra}
    if too_often:
        place, extra = next(iter(too_often.items()))
        raise AssertionError(
            f"{who}: expected every step to be read once in an epoch, found "
            f"{_describe_step(place)} read {extra} times more than that; "
            f"{len(too_often)} steps are read too often"
        )


def _list_differing(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]) -> list[str]:
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
    """Assert that two trainings ended with the same parameters, to the bit."""
    __tracebackhide__ = True
    differing = _list_differing(first, second)
    if first and not differing:
        return
    if not first and not second:
        raise AssertionError(f"{who}, {setting}: expected parameters, found none")
    name = differing[0]
    numbers = [
        _format_first(parameters[name]) if name in parameters else "nothing"
        for parameters in (first, second)
    ]
    raise AssertionError(
        f"{who}, {setting}: expected parameters identical to the bit, found "
        f"{len(differing)} of {len(set(first) | set(second))} different, such as {name}: "
        f"it begins with {numbers[0]} in the first training and with {numbers[1]} in the second"
    )


def _format_first(parameter: np.ndarray) -> str:
    return f"{parameter.reshape(-1)[0]:.9g}" if parameter.size else "nothing"


def assert_other_parameters(
    who: str, setting: str, first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]
) -> None:
    """Assert that two trainings ended with different parameters."""
    __tracebackhide__ = True
    if not _list_differing(first, second):
        raise AssertionError(
            f"{who}, {setting}: expected different parameters, found all {len(first)} identical "
            "to the bit"
        )


def assert_rung_is_learned(
    who: str,
    rung: ladder.Rung,
    values: np.ndarray,
    actions: np.ndarray,
    discrete: bool,
) -> None:
    """Assert that an agent has learned a rung of the ladder; the message names the suspect.

    Args:
        who: framework and algorithm.
        rung: of the ladder.
        values: of its observations [n], in the order of ``ladder.list_observations``.
        actions: the best ones, as the agent says [n] or [n, 1].
        discrete: one of two actions.
    """
    __tracebackhide__ = True
    best = ladder.list_best_actions(rung, discrete)
    quantity, tolerance = "value", ladder.VALUE_TOLERANCE
    learned, expected = values, ladder.list_true_values(rung)
    if best is not None:
        quantity, tolerance = "action", ladder.ACTION_TOLERANCE
        learned, expected = actions, best
    learned = np.ravel(learned).astype(np.float64)
    wrong = np.flatnonzero(~(np.abs(learned - expected) <= tolerance))
    if len(wrong):
        first = wrong[0]
        observed = ladder.list_observations(rung)[first, 0]
        raise AssertionError(
            f"{who}, rung '{rung.name}': expected the {quantity} of observation {observed:g} to be "
            f"{expected[first]:g} within {tolerance:g} ({rung.because}), "
            f"found {learned[first]:.3g}; suspect: {rung.suspect}"
        )

"""Claims about toy environments accept what is right, and say in one sentence what is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests_behavior import assertions

# Two environments, three rows, across the end of an episode: (environment, episode, step).
ROWS = np.array([[[0, 4, 6], [1, 2, 0]], [[0, 4, 7], [1, 2, 1]], [[0, 5, 0], [1, 2, 2]]], float)
NEXT = np.array([[[0, 4, 7], [1, 2, 1]], [[0, 4, 8], [1, 2, 2]], [[0, 5, 1], [1, 2, 3]]], float)


def sentence(claim, *arguments) -> str:
    """What the claim says when it fails."""
    with pytest.raises(AssertionError) as failure:
        claim(*arguments)
    return str(failure.value)


def changed(rows: np.ndarray, place: tuple[int, ...], value: float) -> np.ndarray:
    """A copy with one other number."""
    copy = rows.copy()
    copy[place] = value
    return copy


def test_values_within_the_tolerance_are_near():
    """A value at the edge of the tolerance is near, in both directions and per state."""
    assertions.assert_values_near("A ppo", "ring", np.array([49.0, 51.0]), 50.0, 1.0)
    assertions.assert_values_near("A ppo", "ring", np.array([1.5, 3.0]), np.array([1.0, 3.5]), 0.5)


@pytest.mark.parametrize("found", [48.5, 51.5, np.nan, np.inf])
def test_a_value_out_of_tolerance_is_not_near(found):
    """One value too far, too high or not finite is enough."""
    values = np.array([50.0, found])
    assert "expected the values 50" in sentence(
        assertions.assert_values_near, "A ppo", "ring", values, 50.0, 1.0
    )


def test_a_wrong_value_is_one_sentence():
    """The sentence names who, the setting, the expected and found values and the largest error."""
    assert sentence(
        assertions.assert_values_near, "A ppo", "limit", np.array([7.461, 1], np.float32), 50.0, 1.0
    ) == ("A ppo, limit: expected the values 50 within 1, found [7.46, 1.0], up to 49 away")


def test_values_that_come_too_close_are_not_far():
    """All values have to keep the distance, and a value that is no number does not keep it."""
    assertions.assert_values_far("A ppo", "ring", np.array([7.0, 1.0]), 50.0, 40.0)
    assert sentence(
        assertions.assert_values_far, "A ppo", "termination", np.array([7.0, 49.0]), 50.0, 40.0
    ) == ("A ppo, termination: expected values more than 40 away from 50, found [7, 49]")
    assert sentence(assertions.assert_values_far, "A ppo", "ring", np.array([np.nan]), 50.0, 40.0)


def test_no_values_are_neither_near_nor_far():
    """A claim about no values at all fails."""
    assert sentence(assertions.assert_values_near, "A ppo", "ring", np.array([]), 50.0, 1.0)
    assert sentence(assertions.assert_values_far, "A ppo", "ring", np.array([]), 50.0, 1.0)


def test_stored_rows_are_compared_exactly():
    """The same rows hold, flags as numbers too, and so does a field that is nowhere."""
    assertions.assert_stored("A td3", "steps", np.array([[0.0, 1.0]]), [[0, 1]])
    assertions.assert_stored("A td3", "ends", np.array([[False, True]]), [[0, 1]])
    assertions.assert_stored("A td3", "steps", None, None)


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        ([[0.0, 2.0]], [[0, 1]], "expected steps [[0, 1]] to be stored, found steps [[0, 2]]"),
        ([[0.0]], [[0, 1]], "expected steps [[0, 1]] to be stored, found steps [[0]]"),
        (None, [[0, 1]], "expected steps [[0, 1]] to be stored, found nothing"),
        ([[True]], [[0]], "expected steps [[0]] to be stored, found steps [[1]]"),
        ([[0.0]], None, "expected nothing to be stored, found steps [[0]]"),
    ],
)
def test_other_rows_are_one_sentence(found, expected, said):
    """Another number, another shape, a missing and a superfluous field are each spelled out."""
    rows = None if found is None else np.array(found)
    assert sentence(assertions.assert_stored, "A td3", "steps", rows, expected) == f"A td3: {said}"


def test_rows_of_two_environments_belong_together():
    """Columns of one environment each hold across the end of an episode, with or without next."""
    assertions.assert_rows_belong_together("A sac", ROWS, NEXT)
    assertions.assert_rows_belong_together("A sac", ROWS, None)


@pytest.mark.parametrize(
    ("rows", "following", "said"),
    [
        (changed(ROWS, (1, 0, 0), 1), NEXT, "found the environments [[0, 1], [1]] in the columns"),
        (ROWS[:, [0, 0]], NEXT[:, [0, 0]], "found the environments [[0], [0]] in the columns"),
        (
            changed(ROWS, (1, 1, 2), 2),
            NEXT,
            "expected the observation after [1, 2, 0] (environment, episode, step) to be the next "
            "one of its environment, found [1, 2, 2]",
        ),
        (
            changed(ROWS, (2, 0, 1), 6),
            NEXT,
            "expected the observation after [0, 4, 7] (environment, episode, step) to be the next "
            "one of its environment, found [0, 6, 0]",
        ),
        (
            ROWS,
            changed(changed(NEXT, (1, 0, 1), 5), (1, 0, 2), 0),
            "expected the next observation of [0, 4, 7] (environment, episode, step) to be "
            "[0, 4, 8], found [0, 5, 0]; 1 of 6 rows are wrong",
        ),
        (
            ROWS,
            NEXT[:, ::-1],
            "to be [0, 4, 7], found [1, 2, 1]; 6 of 6 rows are wrong",
        ),
    ],
)
def test_a_row_out_of_place_is_one_sentence(rows, following, said):
    """A mixed or doubled column, a skipped step or episode and a next of elsewhere are named."""
    found = sentence(assertions.assert_rows_belong_together, "A sac", rows, following)
    assert re.match(r"A sac: expected ", found)
    assert found.endswith(said)


def test_parameters_are_the_same_to_the_bit():
    """Equal arrays hold; NaN equals itself, since bits are compared."""
    first = {"w": np.array([1.0, np.nan]), "b": np.zeros(0)}
    again = {name: array.copy() for name, array in first.items()}
    assertions.assert_same_parameters("A ppo", "twice", first, again)
    assert sentence(assertions.assert_other_parameters, "A ppo", "seeds", first, again) == (
        "A ppo, seeds: expected different parameters, found all 2 identical to the bit"
    )


@pytest.mark.parametrize(
    "second",
    [
        {"b": np.zeros(2), "w": np.array([np.nextafter(1.0, 2.0)])},
        {"b": np.zeros(2), "w": np.array([1.0], dtype=np.float32)},
        {"b": np.zeros(2), "w": np.array([[1.0]])},
        {"b": np.zeros(2)},
        {"b": np.zeros(2), "w": np.array([1.0]), "x": np.zeros(1)},
    ],
)
def test_the_least_difference_is_seen(second):
    """One bit, another precision, shape or name makes parameters different."""
    first = {"b": np.zeros(2), "w": np.array([1.0])}
    assert sentence(assertions.assert_same_parameters, "A ppo", "twice", first, second)
    assertions.assert_other_parameters("A ppo", "twice", first, second)


def test_different_parameters_are_one_sentence():
    """The sentence counts what differs and shows the first of it on both sides."""
    first = {"b": np.zeros(2), "w": np.array([1.0])}
    assert sentence(
        assertions.assert_same_parameters,
        "A ppo",
        "seed 1 twice",
        first,
        {**first, "w": first["w"] / 2},
    ) == (
        "A ppo, seed 1 twice: expected parameters identical to the bit, found 1 of 2 different, "
        "such as w: it begins with 1 in the first training and with 0.5 in the second"
    )
    assert "found none" in sentence(assertions.assert_same_parameters, "A ppo", "twice", {}, {})

"""Claims about toy environments accept right data, and name wrong data in one sentence."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from rlregress.probing.interface import Minibatch
from tests_behavior import assertions

# Two environments, three rows, across the end of an episode: (environment, episode, step).
ROWS = np.array([[[0, 4, 6], [1, 2, 0]], [[0, 4, 7], [1, 2, 1]], [[0, 5, 0], [1, 2, 2]]], float)
NEXT = np.array([[[0, 4, 7], [1, 2, 1]], [[0, 4, 8], [1, 2, 2]], [[0, 5, 1], [1, 2, 3]]], float)


def sentence(claim, *arguments) -> str:
    """Return the message with which the claim fails."""
    with pytest.raises(AssertionError) as failure:
        claim(*arguments)
    return str(failure.value)


def changed(rows: np.ndarray, place: tuple[int, ...], value: float) -> np.ndarray:
    """Return a copy with one other number."""
    copy = rows.copy()
    copy[place] = value
    return copy


def test_values_are_near_and_parameters_the_same_to_the_bit():
    """Within a tolerance, and without one."""
    assertions.assert_values_near("A ppo", "ring", np.array([49.0, 51.0]), 50.0, 1.0)
    assertions.assert_values_near("A ppo", "ring", np.array([1.5, 3.0]), np.array([1.0, 3.5]), 0.5)
    first = {"w": np.array([1.0, np.nan]), "b": np.zeros(0)}
    second = {name: array.copy() for name, array in first.items()}
    assertions.assert_same_parameters("A ppo", "twice", first, second)
    assert sentence(assertions.assert_other_parameters, "A ppo", "seeds", first, second)
    assert "found none" in sentence(assertions.assert_same_parameters, "A ppo", "twice", {}, {})


@pytest.mark.parametrize("values", [[50.0, 48.5], [50.0, 51.5], [50.0, np.nan], []])
def test_a_value_out_of_tolerance_is_one_sentence(values):
    """A value too far away, not finite or missing is an error."""
    failure = sentence(assertions.assert_values_near, "A ppo", "limit", np.array(values), 50.0, 1.0)
    assert failure.startswith("A ppo, limit: expected the values 50 within 1, found")


@pytest.mark.parametrize(
    ("stored", "expected", "message"),
    [
        ([[0.0, 2.0]], [[0, 1]], "expected steps [[0, 1]] to be stored, found steps [[0, 2]]"),
        ([[0.0]], [[0, 1]], "expected steps [[0, 1]] to be stored, found steps [[0]]"),
        (None, [[0, 1]], "expected steps [[0, 1]] to be stored, found nothing"),
        ([[0.0]], None, "expected nothing to be stored, found steps [[0]]"),
    ],
)
def test_other_rows_are_one_sentence(stored, expected, message):
    """Another number, another shape, a missing and a superfluous field are each spelled out."""
    rows = None if stored is None else np.array(stored)
    assertions.assert_stored("A td3", "ends", rows, stored)
    text = sentence(assertions.assert_stored, "A td3", "steps", rows, expected)
    assert text == f"A td3: {message}"


# Two environments, whose clocks show 0, 1/8 and 2/8; the episode of the second one ends at 1/8.
STEPS = {(n, k / 8): (n, k) == (1, 1) for n in (0.0, 1.0) for k in range(3)}
ACTIONS = np.array([[0.5], [-2.0], [0.0], [0.25], [1.0], [-0.5]])
VALUES = np.array([3.0, 5.0, 7.0, 4.0, 6.0, 8.0])
CLOCKS = Minibatch(
    observations=np.array(list(STEPS)),
    actions=ACTIONS,
    next_observations=np.array(list(STEPS)) + np.array([0.0, 1 / 8]),
    # the action of -2 was clipped on its way to the environment
    rewards=np.array([0.5, 1 / 8 - 1, 2 / 8, 1.25, 1 + 1 / 8 + 1, 1 + 2 / 8 - 0.5]),
    done=np.array([0, 0, 0, 0, 1, 0], dtype=bool),
    terminated=np.array([0, 0, 0, 0, 1, 0], dtype=bool),
    values=VALUES,
    # with half of the value of the next row, of what ends an episode too; 0 where none is known
    returns=np.array([3.0, 1 / 8 - 1 + 3.5, 0.0, 4.25, 1 + 1 / 8 + 1 + 4.0, 0.0]),
)
PLAIN = Minibatch(observations=CLOCKS.observations, actions=ACTIONS)


def test_rows_of_environments_hold():
    """Those of two belong together, one step each; a row that none has shown is one sentence."""
    assertions.assert_rows_belong_together("A sac", ROWS, NEXT)
    assertions.assert_rows_belong_together("A sac", ROWS, None)
    assertions.assert_transitions("A sac", CLOCKS, STEPS, terminates=True)
    assertions.assert_transitions("A sac", PLAIN, STEPS, terminates=True)
    truncated = with_(CLOCKS, terminated=np.zeros(6, dtype=bool))
    assertions.assert_transitions("A sac", truncated, STEPS, terminates=False)
    reset = with_(CLOCKS, next_observations=((4, 1), 2 / 8 - 1 / 16))
    assertions.assert_transitions("A sac", reset, STEPS, terminates=True, reset_is_next=True)
    rows = with_(CLOCKS, observations=((5, 0), 0.5))
    for claim in (
        lambda: assertions.assert_transitions("A ppo", rows, STEPS, True),
        lambda: assertions.assert_one_step_returns("A ppo", rows, STEPS, 0.5, True),
    ):
        assert "found the step of environment 0.5 at time 0.25; 1 of 6 rows" in sentence(claim)


@pytest.mark.parametrize(
    ("rows", "following", "message"),
    [
        (changed(ROWS, (1, 0, 0), 1), NEXT, "found the environments [[0, 1], [1]] in the columns"),
        (ROWS[:, [0, 0]], NEXT[:, [0, 0]], "found the environments [[0], [0]] in the columns"),
        (changed(ROWS, (1, 1, 2), 2), NEXT, "next one of its environment, found [1, 2, 2]"),
        (changed(ROWS, (2, 0, 1), 6), NEXT, "next one of its environment, found [0, 6, 0]"),
        (ROWS, changed(changed(NEXT, (1, 0, 1), 5), (1, 0, 2), 0),
         "to be [0, 4, 8], found [0, 5, 0]; 1 of 6 rows are wrong"),
        (ROWS, NEXT[:, ::-1], "to be [0, 4, 7], found [1, 2, 1]; 6 of 6 rows are wrong"),
    ],
)  # fmt: skip
def test_a_row_out_of_place_is_one_sentence(rows, following, message):
    """A mixed or doubled column, a skipped step or episode and a next of elsewhere are named."""
    failure = sentence(assertions.assert_rows_belong_together, "A sac", rows, following)
    assert re.match(r"A sac: expected ", failure)
    assert failure.endswith(message)


def with_(rows: Minibatch, **changed: object) -> Minibatch:
    """Return the rows with other fields; a tuple (place, value) changes one number."""
    fields = {}
    for name, new in changed.items():
        field = getattr(rows, name).copy()
        if isinstance(new, tuple):
            field[new[0]] = new[1]
        fields[name] = field if isinstance(new, tuple) else new
    return replace(rows, **fields)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rewards": (3, 0.25)}, "the reward of {} at time 0 to be 1.25, found 0.25"),
        ({"rewards": (3, np.nan)}, "the reward of {} at time 0 to be 1.25, found nan"),
        ({"next_observations": ((3, 0), 0.0)}, "the next observation of {} at time 0 to be [1.0"),
        ({"done": (4, False)}, "the end of {} at time 0.125 to be 1, found 0"),
        ({"terminated": (3, True)}, "the termination of {} at time 0 to be 0, found 1"),
        ({"actions": ((3, 0), 0.5)}, "the reward of {} at time 0 to be 1.5, found 1.25"),
    ],
)  # fmt: skip
def test_a_row_of_two_steps_is_one_sentence(changes, message):
    """Each field that is of another step is named, with the row and how many are wrong."""
    rows = with_(CLOCKS, **changes)
    failure = sentence(assertions.assert_transitions, "A sac", rows, STEPS, True)
    assert message.format("the step of environment 1") in failure
    assert failure.endswith("; 1 of 6 rows are wrong")


def test_returns_are_of_the_environment_whose_value_they_hold():
    """Values that cannot be looked up are one sentence."""
    assertions.assert_one_step_returns("A ppo", CLOCKS, STEPS, 0.5, value_after_end=True)
    cut_off = with_(CLOCKS, returns=(4, 1 + 1 / 8 + 1))
    assertions.assert_one_step_returns("A ppo", cut_off, STEPS, 0.5, value_after_end=False)
    wrong = ((cut_off, True, "6.12, found 2.12"), (CLOCKS, False, "2.12, found 6.12"))
    for rows, after, text in wrong:
        failure = sentence(assertions.assert_one_step_returns, "A ppo", rows, STEPS, 0.5, after)
        assert f"environment 1 at time 0.125 to be {text}; 1 of 4 rows are wrong" in failure
    fields = {name: field for name, field in vars(CLOCKS).items() if field is not None}
    twice = Minibatch(**{name: np.concatenate([field] * 2) for name, field in fields.items()})
    fewer = Minibatch(**{name: field[[0, 2, 3, 4, 5]] for name, field in fields.items()})
    for rows, text in (
        (with_(twice, values=(6, 9.0)), "as long as nothing is learned, found [3, 9]"),
        (with_(CLOCKS, values=np.full(6, 3.0)), "values that tell observations apart"),
        (fewer, "environment 0 at time 0 led to, found none among 5"),
    ):  # fmt: skip
        failure = sentence(assertions.assert_one_step_returns, "A ppo", rows, STEPS, 0.5, True)
        assert text in failure


def test_numbers_of_the_same_rows_are_compared():
    """One other number, one that is none, and no rows at all are each an error."""
    assertions.assert_same_in_each_row("A ppo", "advantages", VALUES, VALUES + 1e-6)
    changed_values = with_(CLOCKS, values=(2, 9.0)).values
    assert sentence(
        assertions.assert_same_in_each_row, "A ppo", "advantages", changed_values, VALUES
    ) == ("A ppo: expected the advantages [7], found [9]; 1 of 6 rows are wrong")
    for wrong in (with_(CLOCKS, values=(2, np.nan)).values, VALUES[:0]):
        expected = VALUES[: len(wrong)]
        assert sentence(assertions.assert_same_in_each_row, "A ppo", "x", wrong, expected)


def test_rows_are_read_at_least_or_exactly_once():
    """A missed step, one that is read twice and one that was never met are each named."""
    steps = list(STEPS)
    assertions.assert_steps_read("A td3", CLOCKS, steps[:4])
    assertions.assert_steps_read_once("A ppo", CLOCKS, steps)
    fewer = replace(PLAIN, observations=PLAIN.observations[:5])
    for claim in (assertions.assert_steps_read, assertions.assert_steps_read_once):
        failure = sentence(claim, "A ppo", fewer, steps)
        assert "environment 1 at time 0.25 to be read, found it in none of 5 rows" in failure
    failure = sentence(assertions.assert_steps_read_once, "A ppo", CLOCKS, steps[:5])
    assert "found the step of environment 1 at time 0.25 read 1 times more" in failure


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
def test_the_smallest_difference_is_detected(second):
    """One bit, another precision, shape or name makes parameters different."""
    first = {"b": np.zeros(2), "w": np.array([1.0])}
    assert sentence(assertions.assert_same_parameters, "A ppo", "twice", first, second)
    assertions.assert_other_parameters("A ppo", "twice", first, second)

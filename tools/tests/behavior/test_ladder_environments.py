"""A failure of the ladder is one sentence, which names the suspect."""

from __future__ import annotations

import numpy as np
import pytest

from tests_behavior import ladder
from tests_behavior.assertions import assert_rung_is_learned


def test_a_value_that_is_wrong_names_the_suspect():
    """The message states the expected value and its reason, the observed value, and the suspect."""
    delay = next(rung for rung in ladder.RUNGS if rung.name == "delay")
    assert_rung_is_learned("One ppo", delay, np.array([0.4, 1.1]), np.zeros(2), False)
    with pytest.raises(AssertionError) as error:
        assert_rung_is_learned("One ppo", delay, np.array([0.1, 1.0]), np.zeros(2), False)
    message = str(error.value)
    assert "rung 'delay': expected the value of observation -1 to be 0.5 within 0.3" in message
    assert message.endswith("found 0.1; suspect: discount or bootstrapping")


@pytest.mark.parametrize("actions", [[1.0, 1.0], [-1.0, np.nan], [-0.1, 1.0]])
def test_an_action_that_is_wrong_names_the_suspect(actions):
    """The wrong bound, no number, and one that is too far away."""
    both = ladder.RUNGS[-1]
    assert_rung_is_learned("One ppo", both, np.zeros(2), np.array([[-0.9], [0.6]]), False)
    with pytest.raises(AssertionError, match="expected the action of observation .* policy, or"):
        assert_rung_is_learned("One ppo", both, np.zeros(2), np.array(actions), False)

"""The ladder's environments have the stated values; a failure of the ladder is one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests_behavior import ladder
from tests_behavior.assertions import assert_climbed

RUNG = pytest.mark.parametrize("rung", ladder.RUNGS, ids=[rung.name for rung in ladder.RUNGS])


@RUNG
@pytest.mark.parametrize("discrete", [False, True])
def test_a_rung_keeps_the_rules_of_gymnasium(rung, discrete):
    """Gymnasium's own checker accepts it."""
    check_env(ladder.Ladder(rung, discrete), skip_render_check=True)


@RUNG
@pytest.mark.parametrize("discrete", [False, True])
def test_the_best_actions_earn_the_values(rung, discrete):
    """The best actions earn the values, the worst do not, unless actions are of no matter."""
    environment = ladder.Ladder(rung, discrete)
    first_observations = ladder.observations(rung)[:, 0].tolist()
    best = ladder.actions(rung, discrete)
    met = set()
    environment.reset(seed=0)
    for number in range(20):
        observation, _ = environment.reset()
        place = first_observations.index(observation[0])
        met.add(place)
        worst = number % 2
        action = 0.0 if best is None else float(best[place])
        if worst:
            action = 1.0 - action if discrete else -action
        earned, discount, done = 0.0, 1.0, False
        while not done:
            argument = int(action) if discrete else np.array([action], dtype=np.float32)
            _, reward, done, truncated, _ = environment.step(argument)
            assert not truncated
            earned += discount * reward
            discount *= ladder.DISCOUNT
        right = -1.0 if worst and best is not None else 1.0
        assert earned == pytest.approx(right * ladder.values(rung)[place])
    assert met == ({0, 1} if rung.observed else {0})


def test_a_value_that_is_wrong_names_the_suspect():
    """The message states the expected value and its reason, the observed value, and the suspect."""
    delay = next(rung for rung in ladder.RUNGS if rung.name == "delay")
    assert_climbed("One ppo", delay, np.array([0.4, 1.1]), np.zeros(2), False)
    with pytest.raises(AssertionError) as error:
        assert_climbed("One ppo", delay, np.array([0.1, 1.0]), np.zeros(2), False)
    assert str(error.value) == (
        "One ppo, rung 'delay': expected the value of observation -1 to be 0.5 within 0.3 (the "
        "reward 1 comes with observation 1, the discount is 0.5), found 0.1; suspect: discount or "
        "bootstrapping"
    )


@pytest.mark.parametrize("actions", [[1.0, 1.0], [-1.0, np.nan], [-0.1, 1.0]])
def test_an_action_that_is_wrong_names_the_suspect(actions):
    """The wrong bound, no number, and one that is too far away."""
    both = ladder.RUNGS[-1]
    assert_climbed("One ppo", both, np.zeros(2), np.array([[-0.9], [0.6]]), False)
    with pytest.raises(AssertionError, match="expected the action of observation .* policy, or"):
        assert_climbed("One ppo", both, np.zeros(2), np.array(actions), False)

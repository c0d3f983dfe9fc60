"""Settings of the toys are read, and their environments are as their values assume."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from rlregress import frameworks, suite
from rlregress.errors import UserError
from tests_behavior import clock, ladder, ring
from tests_behavior.assertions import assert_rung_is_learned
from tests_behavior.clock import Clock
from tests_behavior.counter import StepCounter
from tests_behavior.limit import LimitIs
from tests_behavior.toy_settings import load_setting

BASE = "ppo: {discount: 0.99, hidden_sizes: [64]}\n"
GOOD = "time_limit: {ppo: {total_steps: 9, changes: {discount: 0.98}, stores: [done]}}\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes the settings and the hyperparameters of a framework called "some"."""
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)

    def write(behavior: str, hyperparameters: str = BASE) -> None:
        for folder, text in (("behavior", behavior), ("hyperparameters", hyperparameters)):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / "some.yaml").write_text(text)

    return write


def test_changes_are_applied_to_the_frameworks_own_set(written):
    """Unchanged hyperparameters keep the framework's value, and missing settings their default."""
    written(GOOD)
    toy_setting = load_setting("some", "time_limit", "ppo")
    assert toy_setting.hyperparameters == {"discount": 0.98, "hidden_sizes": [64]}
    assert (toy_setting.total_steps, toy_setting.stores) == (9, ("done",))
    assert toy_setting.warm_up_is_stored
    assert not toy_setting.value_in_last_reward


@pytest.mark.parametrize(
    ("behavior", "message"),
    [
        ("segments: {ppo: {}}", "has no topic 'time_limit'; known: segments"),
        ("time_limit: {sac: {}}", "time_limit has no algorithm 'ppo'; known: sac"),
        ("time_limit: {ppo: {changes: {gamma: 0.98}}}", "time_limit.ppo: the hyperparameter set "
         "'some' has no hyperparameter 'gamma'; known: discount, hidden_sizes"),
    ],
)  # fmt: skip
def test_a_damaged_setting_is_one_sentence(written, behavior, message):
    """An empty, damaged or incomplete file, an unknown key and a wrong value are each named."""
    written(behavior)
    with pytest.raises(UserError, match="some.yaml") as error:
        load_setting("some", "time_limit", "ppo")
    assert message in str(error.value)


def test_settings_without_cells_have_their_own_hyperparameters(written):
    """An algorithm of the topic "without_cells" needs no set, and has only the names of that."""
    base = "without_cells: {dqn: {changes: {discount: 0.99, learning_starts: 0}}}\n"
    written(base + "counts: {dqn: {most_environments: 1, changes: {discount: 0.5}}}\n")
    toy_setting = load_setting("some", "counts", "dqn")
    assert toy_setting.hyperparameters == {"discount": 0.5, "learning_starts": 0}
    assert [toy_setting.limit_environments(n) for n in (1, 3)] == [1, 1]
    written(base + "counts: {dqn: {changes: {gamma: 0.5}}}\n")
    with pytest.raises(UserError, match="the topic 'without_cells' has no hyperparameter 'gamma'"):
        load_setting("some", "counts", "dqn")


@pytest.mark.parametrize("topic", ["time_limit", "segments", "minibatches", "determinism"])
def test_every_framework_has_its_settings(topic):
    """Every known framework has a valid setting for each of its algorithms."""
    for name in frameworks.list_framework_names():
        description = frameworks.get_adapter(name).framework
        further_algorithms = () if topic == "time_limit" else description.behavior_only
        for algorithm in (*description.algorithms, *further_algorithms):
            toy_setting = load_setting(name, topic, algorithm)
            assert toy_setting.stores if topic == "segments" else toy_setting.total_steps, name
            assert bool(toy_setting.reads) == (topic == "minibatches"), name


def episodes(environment, steps: int) -> tuple[list[list[float]], list[tuple[bool, bool]]]:
    """Return all observations (after every reset and every step) and the flags of the steps."""
    seen_observations, flags = [environment.reset(seed=0)[0].tolist()], []
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = environment.step(np.zeros(1, np.float32))
        assert reward == 1.0
        seen_observations.append(observation.tolist())
        flags.append((terminated, truncated))
        if terminated or truncated:
            seen_observations.append(environment.reset()[0].tolist())
    return seen_observations, flags


@pytest.mark.parametrize("environment", [ring.Ring(LimitIs.BOTH), Clock()])
def test_an_environment_keeps_the_rules_of_gymnasium(environment):
    """Gymnasium's own checker accepts the ring and the clock."""
    check_env(environment, skip_render_check=True)


@pytest.mark.parametrize(
    ("limit_is", "last"),
    [(LimitIs.TRUNCATION, (False, True)), (LimitIs.TERMINATION, (True, False))],
)
@pytest.mark.parametrize("make", [ring.Ring, lambda how: StepCounter(0, how)])
def test_an_episode_ends_after_eight_steps(make, limit_is, last):
    """The eighth step ends the episode, as the flag that was asked for, and no other step does."""
    _, flags = episodes(make(limit_is), 16)
    assert flags == [*[(False, False)] * 7, last] * 2


def test_counters_and_clocks_are_as_their_values_assume():
    """A counter says where it is; clocks end at different times, and rewards encode all."""
    observations, _ = episodes(StepCounter(number=3), 10)
    expected = [[3, 0, step] for step in range(9)] + [[3, 1, step] for step in range(3)]
    assert observations == expected
    met = clock.simulate_steps(3, 16)
    assert len(met) == 3 * 16
    ends = [
        [k % 16 for k, end in enumerate(met.values()) if end and k // 16 == n] for n in range(3)
    ]
    assert ends == [[2, 5, 8, 11, 14], [3, 7, 11, 15], [4, 9, 14]]
    environment = Clock(2, LimitIs.TERMINATION)
    environment.reset()
    rewards = [environment.step(np.array([0.5], np.float32))[1] for _ in range(2)]
    assert rewards == [2 - clock.TICK / 2 + 0.5, 2 + 0.5]


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

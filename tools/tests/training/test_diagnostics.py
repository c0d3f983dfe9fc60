"""Episodes of a training, and diagnostics that a framework logs, summed up at the end."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest

from rlregress import frameworks
from rlregress.inside.diagnostics import DIAGNOSTICS, average_diagnostics_at_end
from rlregress.inside.episodes import Episodes, compute_return_of_last_third
from rlregress.model import quantities
from rlregress.probing.interface import TrainingRequest
from tests_behavior.limit import LimitIs
from tests_behavior.ring import Ring
from tests_behavior.toy_settings import load_setting
from tools.tests.nightly import all_frameworks


def trained(adapter, algorithm, steps, **changes):
    """Train on the ring for a short time, with some changed hyperparameters."""
    hyperparameters = load_setting(adapter.name, "time_limit", algorithm).hyperparameters
    request = TrainingRequest(
        algorithm=algorithm,
        make_env=lambda: Ring(LimitIs.TERMINATION),
        hyperparameters={**hyperparameters, **changes},
        total_steps=steps,
        seed=0,
    )
    return adapter.train.train(request)


#: of PPO, where a framework does not log all
EXPOSED = dict.fromkeys(("rsl_rl", "skrl"), {"entropy"})


def _adapters_with(algorithm):
    adapters = [
        a for a in frameworks.list_installed_adapters() if algorithm in a.framework.algorithms
    ]
    return all_frameworks(adapters, lambda adapter: adapter.name, lambda adapter: adapter.full_name)


def test_the_end_is_the_last_tenth_of_the_updates():
    """Diagnostics that are not exposed are None; each is a quantity of the verdicts."""
    logged = {"entropy": [*range(18), 4.0, 6.0], "kl": [1.0, 2.0, 0.5]}
    assert average_diagnostics_at_end("ppo", logged) == {"entropy": 5.0, "kl": 0.5}
    assert average_diagnostics_at_end("ppo", {"kl": [0.0, math.nan]}) == {
        "entropy": None,
        "kl": None,
    }
    assert average_diagnostics_at_end("sac", {"kl": [1.0], "entropy": []}) == {
        "entropy": None,
        "temperature": None,
    }
    assert average_diagnostics_at_end("td3", {}) == {}
    assert {name for names in DIAGNOSTICS.values() for name in names} == set(quantities.DIAGNOSTICS)


@pytest.mark.parametrize("adapter", _adapters_with("ppo"))
def test_divergence_and_entropy_move_with_the_policy(adapter):
    """Without a learning rate the divergence is zero and the entropy stands; with one they move."""
    rollout = load_setting(adapter.name, "time_limit", "ppo").hyperparameters["rollout_steps"]
    # without an entropy in its loss one of them tracks none
    shared = {"steps": 4 * rollout, "algorithm": "ppo", "entropy_coefficient": 0.01}
    still = trained(adapter, **shared, learning_rate=0.0).diagnostics
    moving = trained(adapter, **shared, learning_rate=0.02).diagnostics
    exposed = EXPOSED.get(adapter.name, {"entropy", "kl"})
    for series in (still, moving):
        assert set(series) == exposed
        assert {len(values) for values in series.values()} == {len(series["entropy"])}
        assert len(series["entropy"]) >= 4
    assert min(still["entropy"]) > 0.3  # a standard deviation of 1 has 1.42 nats, squashed or not
    assert np.ptp(moving["entropy"]) > 1e-3
    if "kl" in exposed:
        np.testing.assert_allclose(still["kl"], 0.0, atol=1e-5)
        assert np.abs(moving["kl"]).max() > 1e-3


#: what the parameter is called that a temperature is the exponential of
_TEMPERATURES = ("log_ent_coef", "log_alpha", "log_entropy_coefficient")


@pytest.mark.parametrize("adapter", _adapters_with("sac"))
def test_the_temperature_is_the_one_that_is_learned(adapter):
    """It ends near the exponential of the learned parameter, away from where it began."""
    hyperparameters = load_setting(adapter.name, "time_limit", "sac").hyperparameters
    tuned = {"tune_temperature": True} if "tune_temperature" in hyperparameters else {}
    # other than where the settings of the ring have put it, which is next to nothing; CleanRL logs
    # it every hundred steps
    steps = 240 if adapter.name == "cleanrl" else 120
    trained_agent = trained(
        adapter, "sac", steps, **tuned,
        initial_temperature=1.0, target_entropy="auto", updates_per_collection=1,
        steps_per_collection=1, learning_rate=0.001, critic_learning_rate=0.001,
        **(
            {"temperature_learning_rate": 0.001}
            if "temperature_learning_rate" in hyperparameters
            else {}
        ),
    )  # fmt: skip
    (learned,) = [v for k, v in trained_agent.parameters.items() if k in _TEMPERATURES]
    temperature = trained_agent.diagnostics["temperature"]
    assert temperature[-1] == pytest.approx(float(np.exp(learned).reshape(-1)[0]), rel=0.12)
    assert temperature[0] > temperature[-1]


class Countdown(gymnasium.Env):
    """Pays 1, 2, 3, ... and ends after ``length`` steps, terminated or truncated."""

    observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int, truncated: bool = False) -> None:
        self.length, self.truncated = length, truncated

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.at += 1
        end = self.at == self.length
        ends = (end and not self.truncated, end and self.truncated)
        return np.full(1, self.at, np.float32), float(self.at), *ends, {}


def test_every_episode_has_its_return_and_its_length():
    """Steps are those of both environments; an episode cut off by a reset has no return."""
    episodes = Episodes()
    both = [
        episodes.wrap_environment(Countdown(3)),
        episodes.wrap_environment(Countdown(2, truncated=True)),
    ]
    for environment in both:
        environment.reset(seed=0)
    for _ in range(3):
        for environment in both:
            if environment.step(0)[2:4] != (False, False):
                environment.reset()
    assert episodes.finished == [(4, 3.0, 2), (5, 6.0, 3)]
    episodes = Episodes()
    environment = episodes.wrap_environment(Countdown(2))
    environment.reset()
    environment.step(0)
    environment.reset()
    environment.step(0)
    environment.step(0)
    assert episodes.finished == [(3, 3.0, 2)]


def _through(environment, steps):
    environment.reset()
    for _ in range(steps):
        if environment.step(0)[2:4] != (False, False):
            environment.reset()


def test_the_latest_episodes_are_those_of_the_last_third():
    """At most ten, and at least the last one, or one that is running."""
    episodes = Episodes()
    _through(episodes.wrap_environment(Countdown(2, truncated=True)), 12)
    latest = episodes.list_latest_episodes()
    assert len(latest) == 2
    for episode in latest:
        assert [float(observation[0]) for observation in episode.observations] == [0.0, 1.0, 2.0]
        assert (episode.rewards, episode.terminated) == ([1.0, 2.0], False)
    _through(episodes.wrap_environment(Countdown(1)), 120)
    assert len(episodes.list_latest_episodes()) == 10
    episodes = Episodes()
    environment = episodes.wrap_environment(Countdown(10))
    assert episodes.list_latest_episodes() == []
    _through(environment, 4)
    (running,) = episodes.list_latest_episodes()
    assert (running.rewards, running.terminated) == ([1.0, 2.0, 3.0, 4.0], False)
    environment.env.length = 5
    environment.step(0)
    _through(environment, 4)
    (last,) = episodes.list_latest_episodes()
    assert (len(last.rewards), last.terminated) == (5, True)


def test_the_late_return_is_that_of_the_last_third():
    """Episodes that end after step 60 of 90 count, at least the last one; a NaN spoils the mean."""
    episodes = [(30, 1.0, 30), (60, 2.0, 30), (70, 4.0, 10), (90, 6.0, 20)]
    assert compute_return_of_last_third(episodes, 90) == 5.0
    assert compute_return_of_last_third(episodes[:2], 90) == 2.0
    assert compute_return_of_last_third([], 90) is None
    assert compute_return_of_last_third([*episodes, (90, float("nan"), 1)], 90) is None

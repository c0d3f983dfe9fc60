"""Diagnostics that a framework logs are read and summed up at the end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rlregress import frameworks
from rlregress.inside.diagnostics import DIAGNOSTICS, average_diagnostics_at_end
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
    """The last two of 20 values count, the last of three; an unexposed diagnostic is None."""
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


def test_every_diagnostic_can_be_judged():
    """Every recorded diagnostic is a quantity of the verdicts, under the same name."""
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
    # other than where the settings of the ring have put it, which is next to nothing
    trained_agent = trained(
        adapter, "sac", 120, **tuned,
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

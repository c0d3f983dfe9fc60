"""Probes neither find nor leave anything in the global random generators."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from gymnasium import spaces

from rlregress.catalogue import registry
from rlregress.catalogue.fingerprint import run_and_judge_probe
from rlregress.inside import probe_worker
from rlregress.probing.isolation import run_probe_isolated
from tools.tests.small_adapters import SmallAdapter

#: a detail whose probes draw at random, in every framework that has TD3.
STOCHASTIC = "td3.target_noise.law"


def draw_numbers(inputs=None):
    """Return one number of each global generator, [3]."""
    del inputs
    return np.array([random.random(), np.random.rand(), torch.rand(1).item()])


def draw_and_fail(inputs):
    """A probe that draws, makes everything float64, and then cannot go on."""
    draw_numbers()
    torch.set_default_dtype(torch.float64)
    raise ValueError("it cannot be asked")


def observe_here():
    """Return the observation of the tests and the fingerprint of this process."""
    return run_and_judge_probe(
        registry.get_detail(STOCHASTIC), lambda inputs: draw_numbers()[:2]
    ).observed.tolist()


def observe_elsewhere(monkeypatch):
    """Return the observation of an upgrade in one of its environments."""
    adapter = SmallAdapter(
        {"list_probes": lambda: {(STOCHASTIC, "library"): draw_numbers}}, version="1"
    )
    monkeypatch.setattr(probe_worker.frameworks, "get_adapter", lambda name: adapter)
    return probe_worker.probe_adapter("any", {STOCHASTIC: {}})["observed"][f"{STOCHASTIC} library"][
        "observed"
    ]


def test_both_ways_of_probing_draw_the_same_and_keep_the_generators(monkeypatch):
    """Both ways seed the generators, and later draws are not changed."""
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    undisturbed = [draw_numbers(), draw_numbers()]
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    judged = observe_here()
    assert np.array_equal(draw_numbers(), undisturbed[0])
    requested = observe_elsewhere(monkeypatch)
    assert np.array_equal(draw_numbers(), undisturbed[1])
    assert judged == observe_here() == requested[:2]
    assert requested == observe_elsewhere(monkeypatch)


def test_a_probe_that_fails_leaves_the_process_alone():
    """The generators and torch's default type are restored whatever ends the probe."""
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    undisturbed = draw_numbers()
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    with pytest.raises(ValueError, match="it cannot be asked"):
        run_probe_isolated(draw_and_fail, {})
    assert torch.get_default_dtype() == torch.float32
    assert np.array_equal(draw_numbers(), undisturbed)


def test_a_space_that_nobody_seeds_draws_the_same_in_each_probe():
    """Frameworks take random actions from spaces that they have not seeded."""

    def draw_from_spaces(inputs):
        return np.array([spaces.Discrete(10**9).sample() for _ in range(2)])

    first, second = run_probe_isolated(draw_from_spaces, {})
    assert first != second
    assert run_probe_isolated(draw_from_spaces, {}).tolist() == [first, second]
    assert draw_from_spaces({}).tolist() != [first, second]


def test_a_probe_has_one_thread():
    """A probe runs with one thread, and the process has its own number afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert run_probe_isolated(lambda inputs: np.array([torch.get_num_threads()]), {}) == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)

"""Digests along a training: what they tell apart, and what they leave out."""

from __future__ import annotations

import random

import gymnasium
import numpy as np
import pytest
import torch

from rlregress.inside.trail import Trail
from rlregress.model.replay_result import KINDS


def digests(change=lambda: None, reward=0.0, target=1.0, rate=0.1):
    """Return the rows of a training of two updates; ``change`` is called before the first."""
    torch.manual_seed(0)
    np.random.seed(0)
    weight = torch.nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([weight], rate)
    with Trail("any", []) as trail:
        environment = trail.wrap_environment(
            gymnasium.wrappers.TransformReward(gymnasium.make("Pendulum-v1"), lambda _: reward)
        )
        environment.reset(seed=0)
        environment.step(np.zeros(1, np.float32))
        change()
        for _ in range(2):
            optimizer.zero_grad()
            (weight - target).square().sum().backward()
            optimizer.step()
    return [row.split(" ")[2:] for row in trail.rows]


DIFFERENT = {
    "environment": {"reward": 1.0},
    "random draws": {"change": lambda: torch.rand(1)},
    "gradients": {"target": 2.0},
    "parameters": {"rate": 0.2},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_difference_shows_in_its_own_digest(kind):
    """The first differing digest of the first differing update names the changed kind."""
    expected, observed = digests()[0], digests(**DIFFERENT[kind])[0]
    differing = [a != b for a, b in zip(expected, observed, strict=True)]
    assert KINDS[differing.index(True)] == kind


def test_a_draw_of_numpy_is_a_difference():
    """Both generators that frameworks draw from are in one digest."""
    assert digests()[0][1] != digests(change=np.random.rand)[0][1]


def test_a_draw_of_an_import_is_no_difference():
    """Python's own generator is left out: optional packages draw from it when they are loaded."""
    assert digests() == digests(change=random.random)

"""Digests along a training, and which lines of the framework count as executed."""

from __future__ import annotations

import random

import gymnasium
import numpy as np
import pytest
import torch

from rlregress import marks
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


def test_draws_of_numpy_and_torch_are_differences():
    """Python's own generator is left out: optional packages draw from it when they are loaded."""
    assert digests()[0][1] != digests(change=np.random.rand)[0][1]
    assert digests() == digests(change=random.random)


SCRIPT = """
import torch


def train(parameter):
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    for number in range(2):
        parameter.square().backward()
        optimizer.step()
    if number > 5:
        number = 0


parameter = torch.ones((), requires_grad=True)
UPDATE
if parameter > 5:
    parameter = None
    parameter = 0
"""


@pytest.mark.parametrize(
    ("update", "lines", "missed"),
    [
        # an update from the body of a script: its lines count, other than imports of a package
        ("train(parameter)", 13, 3),
        # one in a function that something else calls: the functions' alone
        ("", 6, 1),
    ],
    ids=["script", "module"],
)
def test_the_body_of_a_script_counts(tmp_path, update, lines, missed):
    """The body of a file counts if it calls for updates, and does not if it only defines."""
    path = tmp_path / "algorithm" / "ppo.py"
    path.parent.mkdir()
    path.write_text(SCRIPT.replace("UPDATE", update))
    with Trail("ppo", [str(path.parent)]) as trail:
        namespace = {"__name__": "__main__"}
        exec(marks.compile_source(path.read_bytes(), str(path), bool(update)), namespace)
        if not update:
            namespace["train"](namespace["parameter"])
    [(ran, all_lines)] = trail.describe_trail()["lines"].values()
    assert trail.updates == 2
    assert (all_lines, all_lines - ran) == (lines, missed)
    [executed] = trail.list_executed_lines().values()
    assert len(executed) >= ran

"""The game that obeys, the scenes played in it, the looks at networks, the formulas of pictures."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rlregress.environments import atari_play, atari_vision
from rlregress.environments.atari_fake import AtariGame
from rlregress.environments.atari_play import Player, Step
from rlregress.environments.atari_vision import Vision


def bare(game: AtariGame) -> Player:
    """Return a game with nothing around it."""

    def step(action: int) -> Step:
        picture, reward, over, _, _ = game.step(action)
        return Step(np.moveaxis(picture, -1, 0).astype(float), reward, over)

    return Player(game, lambda: np.moveaxis(game.reset()[0], -1, 0).astype(float), step)


def test_scenes_of_a_bare_game_show_that_nothing_is_there():
    """Without preprocessing every scene gives the catalogue's absent variant."""
    assert atari_play.list_actions_of_reset(bare(AtariGame())) == []
    assert list(atari_play.play_lost_lives(bare(AtariGame()))) == [0, 0, 0, 0, 0, -1]
    inputs = {"pixels": [40.0, 200.0], "rewards": [1.0, 2.0]}
    assert list(atari_play.play_one_action(bare(AtariGame()), inputs)) == [1, 1, 40]
    assert list(atari_play.play_rewards(bare(AtariGame()), {"rewards": [-2.5, 7.0]})) == [-2.5, 7.0]


def test_stacks_are_filled_up_and_shared_parameters_known():
    """A short stack is filled up; shared is what both gradients reach."""
    assert list(atari_play.play_stacked_frames(bare(AtariGame()))[:4]) == [-1, 10, 10, 10]
    assert list(atari_vision.count_parameters_by_output(network(torch.nn.ReLU()))) == [34, 38, 19]


def network(last: torch.nn.Module) -> Vision:
    """Return a small network with ``last`` behind its hidden layer and two linear heads."""
    hidden = torch.nn.Sequential(torch.nn.Conv2d(4, 2, 2), last, torch.nn.Flatten())
    heads = [torch.nn.Linear(18, 2), torch.nn.Linear(18, 1)]
    picture = torch.full((1, 4, 4, 4), 0.25)
    return Vision(
        torch.nn.ModuleList([hidden, *heads]),
        lambda: heads[0](hidden(picture))[0],
        lambda: heads[1](hidden(picture)),
    )


@pytest.mark.parametrize(
    ("last", "least"), [(torch.nn.ReLU(), 0.0), (torch.nn.Identity(), -2.0)], ids=["relu", "none"]
)
def test_activations_are_read_from_the_running_network(last, least):
    """The least and the most behind a layer are those of its activation; weights are restored."""
    vision = network(last)
    before = [p.detach().clone() for p in vision.module.parameters()]
    activations = atari_vision.measure_activation_ranges(vision)
    assert list(activations[:2]) == [least, 3.0]
    assert list(activations[-2:]) == [5.0, -2.0]
    after = list(vision.module.parameters())
    assert all(torch.equal(first, second) for first, second in zip(before, after, strict=True))

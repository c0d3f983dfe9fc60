"""The game that obeys, the scenes played in it, the looks at networks, the formulas of pictures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from rlregress.environments import atari_play, atari_vision
from rlregress.environments.atari_fake import FIRE, OTHER, AtariGame, Lucky
from rlregress.environments.atari_play import Player, Step
from rlregress.environments.atari_vision import Vision
from rlregress.formulas import atari


def bare(game: AtariGame) -> Player:
    """Return a game with nothing around it."""

    def step(action: int) -> Step:
        picture, reward, over, _, _ = game.step(action)
        return Step(np.moveaxis(picture, -1, 0).astype(float), reward, over)

    return Player(game, lambda: np.moveaxis(game.reset()[0], -1, 0).astype(float), step)


def test_the_game_keeps_the_rules_of_gymnasium():
    """Gymnasium's own checker accepts the game."""
    check_env(AtariGame(), skip_render_check=True)


def test_a_frame_says_which_one_it_is():
    """Frame t has the colour 10 + t, and a reset starts over."""
    game = AtariGame()
    colours = [int(game.reset()[0][0, 0, 0])]
    colours += [int(game.step(OTHER)[0][0, 0, 0]) for _ in range(3)]
    colours.append(int(game.reset()[0][0, 0, 0]))
    assert colours == [10, 11, 12, 13, 10]
    assert (game.resets, game.frames, game.actions) == (2, 0, [OTHER] * 3)


def test_queued_frames_are_played_next():
    """A queued frame has its own colour, reward, lives and end; the one after it has none of it."""
    game = AtariGame()
    game.reset()
    game.queue_frame(pixel=99, reward=2.5, lives=1, over=True)
    picture, reward, over, truncated, _ = game.step(FIRE)
    assert (int(picture[0, 0, 0]), reward, over, truncated) == (99, 2.5, True, False)
    assert game.ale.lives() == 1
    assert game.step(FIRE)[1:3] == (0.0, False)


def test_luck_is_the_least_or_the_most():
    """A lucky generator gives the ends of the range that it is asked for."""
    generator = np.random.default_rng(0)
    assert Lucky(generator, most=False).integers(1, 31) == 1
    assert Lucky(generator, most=True).integers(1, 31) == 30


def test_scenes_of_a_bare_game_show_that_nothing_is_there():
    """Without preprocessing every scene gives the catalogue's absent variant."""
    assert atari_play.list_actions_of_reset(bare(AtariGame())) == []
    assert list(atari_play.play_lost_lives(bare(AtariGame()))) == [0, 0, 0, 0, 0, -1]
    inputs = {"pixels": [40.0, 200.0], "rewards": [1.0, 2.0]}
    assert list(atari_play.play_one_action(bare(AtariGame()), inputs)) == [1, 1, 40]
    assert list(atari_play.play_rewards(bare(AtariGame()), {"rewards": [-2.5, 7.0]})) == [-2.5, 7.0]


def test_a_stack_that_is_too_short_is_filled_up():
    """Colours in front of a stack of three frames are -1, never those of frames."""
    assert list(atari_play.play_stacked_frames(bare(AtariGame()))[:4]) == [-1, 10, 10, 10]


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
    activations = atari_vision.measure_activations(vision)
    assert list(activations[:2]) == [least, 3.0]
    assert list(activations[-2:]) == [5.0, -2.0]
    after = list(vision.module.parameters())
    assert all(torch.equal(first, second) for first, second in zip(before, after, strict=True))


def test_shared_parameters_are_those_that_both_gradients_reach():
    """34 parameters of the hidden layer are shared, 38 and 19 are of one head."""
    assert list(atari_vision.count_used_pixels(network(torch.nn.ReLU()))) == [34, 38, 19]


def test_policy_and_value_get_the_same_pictures():
    """The first layer of policy and value sees the pictures as they are."""
    assert list(atari_vision.measure_inputs_at_corner(network(torch.nn.ReLU()))) == [0.25, 0.25]


@pytest.mark.parametrize(
    "weights",
    [
        atari.make_area_weights,
        atari.make_bilinear_weights,
        atari.make_antialiased_weights,
        atari.make_nearest_weights,
    ],
)
def test_weights_keep_a_single_colour(weights):
    """The weights of every new pixel add up to one, whatever the sizes."""
    for old, new in ((210, 84), (160, 84), (5, 2), (4, 4)):
        matrix = weights(old, new)
        assert matrix.shape == (new, old)
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
        assert np.all(matrix >= 0)


def test_weights_of_five_rows_made_two():
    """Five rows become two: by area 2.5 rows each, bilinear between the two nearest centres."""
    np.testing.assert_allclose(
        atari.make_area_weights(5, 2), [[0.4, 0.4, 0.2, 0, 0], [0, 0, 0.2, 0.4, 0.4]]
    )
    np.testing.assert_allclose(
        atari.make_bilinear_weights(5, 2), [[0.25, 0.75, 0, 0, 0], [0, 0, 0, 0.75, 0.25]]
    )
    np.testing.assert_allclose(atari.make_nearest_weights(5, 2), [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0]])


def test_antialiasing_is_what_torch_does():
    """Weights of antialiased interpolation are those of torch, on any picture."""
    picture = np.random.default_rng(0).random((21, 16))
    expected = torch.nn.functional.interpolate(
        torch.as_tensor(picture)[None, None], size=[8, 8], mode="bilinear", antialias=True
    )[0, 0]
    np.testing.assert_allclose(
        atari.resize_picture(picture, atari.make_antialiased_weights, 8), expected, atol=1e-12
    )


def test_pictures_keep_their_rounding():
    """Grey first rounds the grey, colours first round each colour."""
    picture = np.broadcast_to([239.0, 221.0, 124.0], (210, 160, 3))
    assert np.all(
        atari.warp_frame_to_grey(picture, atari.make_area_weights)
        == np.rint(picture[0, 0] @ atari.BT601)
    )
    exact = atari.warp_frame_to_grey(
        picture, atari.make_area_weights, rounding=atari.return_unrounded
    )
    np.testing.assert_allclose(exact, picture[0, 0] @ np.array(atari.BT601))
    assert exact.shape == (84, 84)

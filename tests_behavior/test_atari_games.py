"""Atari: what an agent meets in real games, through all that a framework puts around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import gymnasium
import numpy as np
import pytest
import torch

from rlregress.environments.atari_play import Player, Step
from rlregress.frameworks.base import Adapter
from rlregress.probing.isolation import shift_seed

NOOP, FIRE = 0, 1
#: what shoots in Assault
SHOOT = 2


@pytest.fixture(autouse=True)
def _games(request: pytest.FixtureRequest) -> Iterator[None]:
    """The games are known, silent, and every test starts from the same random numbers."""
    framework = getattr(request.node, "callspec", None) and request.getfixturevalue("framework")
    if framework and "atari" in framework.observe.list_absent_details():
        pytest.skip(f"{framework} {framework.observe.list_absent_details()['atari']}")
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(shift_seed(0))
        yield


def game(name: str) -> Callable[[], gymnasium.Env]:
    """A factory of the game itself: every frame is a step, nothing else happens to it."""

    def make() -> gymnasium.Env:
        environment = gymnasium.make(f"{name}NoFrameskip-v4")
        environment.reset(seed=shift_seed(0))
        return environment

    return make


@cache
def played(framework: Adapter, name: str) -> Player:
    """The game through what a framework puts around it, which takes longer to make than to play."""
    return framework.observe.play_atari(game(name))


@cache
def bare(name: str) -> Player:
    """Control: the game with nothing around it."""
    environment = game(name)()

    def step(action: int) -> Step:
        picture, reward, terminated, truncated, _ = environment.step(action)
        return Step(np.moveaxis(picture, -1, 0), float(reward), terminated or truncated)

    return Player(environment, lambda: np.moveaxis(environment.reset()[0], -1, 0), step)


def frame(player: Player) -> int:
    """The number of the frame that the game is at."""
    return player.game.unwrapped.ale.getEpisodeFrameNumber()


def lives(player: Player) -> int:
    """Lives left in the game."""
    return player.game.unwrapped.ale.lives()


def first_frames(player: Player, games: int = 3) -> list[int]:
    """Return the frames at which the agent takes over in several games."""
    frames = []
    for _ in range(games):
        player.reset()
        frames.append(frame(player))
    return frames


def until_a_life_is_lost(player: Player) -> Step:
    """The step in which the first life is lost: FIRE now and then, but never a move."""
    player.reset()
    before = lives(player)
    for number in range(800):
        step = player.step(FIRE if number % 8 == 0 else NOOP)
        if lives(player) < before:
            return step
    raise AssertionError("no life was lost in 800 steps without a move")


def test_games_begin_at_different_frames(framework: Adapter):
    """The agent takes over at another frame in one game than in the next."""
    # of a player that has not played: a reset after a lost life goes on with the same game
    player = framework.observe.play_atari(game("Breakout"))
    assert len(set(first_frames(player))) > 1


def test_bare_games_begin_at_the_first_frame():
    """Control: without waiting every game begins at frame 0."""
    assert set(first_frames(bare("Breakout"))) == {0}


def test_an_action_lasts_four_frames(framework: Adapter):
    """The game advances by four frames for each action of the agent."""
    player = played(framework, "Breakout")
    player.reset()
    before = frame(player)
    for _ in range(5):
        player.step(NOOP)
    assert frame(player) - before == 20


def test_an_action_of_the_bare_game_lasts_one_frame():
    """Control: the game itself advances by one frame."""
    player = bare("Breakout")
    player.reset()
    player.step(NOOP)
    assert frame(player) == 1


def test_the_agent_sees_four_small_grey_frames(framework: Adapter):
    """An observation is four frames of 84 by 84, finite, and not of a single shade."""
    player = played(framework, "Breakout")
    player.reset()
    observations = [player.step(FIRE).observation for _ in range(6)]
    assert [observation.shape for observation in observations] == [(4, 84, 84)] * 6
    assert np.all(np.isfinite(observations))
    assert all(np.ptp(picture) > 0 for picture in observations[-1])


def test_the_bare_game_is_large_and_coloured():
    """Control: the game itself shows one frame of three colours, 210 by 160."""
    assert bare("Breakout").reset().shape == (3, 210, 160)


def test_a_lost_life_is_an_end_and_the_game_goes_on(framework: Adapter):
    """A lost life ends the episode or sets a flag, while the same game goes on with four lives."""
    player = played(framework, "Breakout")
    step = until_a_life_is_lost(player)
    assert step.done or step.signal
    before = frame(player)
    if step.done:
        player.reset()
    player.step(NOOP)
    assert lives(player) == 4
    assert frame(player) > before


def test_a_lost_life_does_not_end_the_bare_game():
    """Control: the game itself ends with its last life only."""
    step = until_a_life_is_lost(bare("Breakout"))
    assert not step.done


def first_reward(player: Player) -> float:
    """The first reward that is not 0 of an agent that shoots all the time."""
    player.reset()
    for _ in range(600):
        step = player.step(SHOOT)
        if step.reward != 0.0:
            return step.reward
        if step.done:
            player.reset()
    raise AssertionError("nothing was hit in 600 steps")


def test_the_agent_gets_the_sign_of_a_reward(framework: Adapter):
    """A hit that scores several points gives the agent a reward of one."""
    assert first_reward(played(framework, "Assault")) == 1.0


def test_the_bare_game_scores_more_than_one():
    """Control: the game itself gives 21 points for a hit."""
    assert first_reward(bare("Assault")) == 21.0

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
from rlregress.probing.interface import Unsupported
from rlregress.probing.isolation import shift_seed

NOOP, FIRE = 0, 1
#: what shoots in Assault
SHOOT = 2


@pytest.fixture(autouse=True)
def _prepare_games(request: pytest.FixtureRequest) -> Iterator[None]:
    """Register the games, silence them, and start every test from the same random numbers."""
    framework = getattr(request.node, "callspec", None) and request.getfixturevalue("framework")
    if framework and "atari" in framework.observe.list_absent_details():
        pytest.skip(f"{framework} {framework.observe.list_absent_details()['atari']}")
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(shift_seed(0))
        yield


def make_game_factory(name: str) -> Callable[[], gymnasium.Env]:
    """Return a factory of the game without any wrapper: every frame is a step."""

    def make() -> gymnasium.Env:
        environment = gymnasium.make(f"{name}NoFrameskip-v4")
        environment.reset(seed=shift_seed(0))
        return environment

    return make


@cache
def make_player(framework: Adapter, name: str) -> Player:
    """Return a player of the game in the framework's wrappers, made once: that takes seconds."""
    try:
        return framework.observe.make_atari_player(make_game_factory(name))
    except Unsupported as reason:
        pytest.skip(str(reason))


@cache
def make_bare_player(name: str) -> Player:
    """Return a player of the game without wrappers, as a control."""
    environment = make_game_factory(name)()

    def step(action: int) -> Step:
        picture, reward, terminated, truncated, _ = environment.step(action)
        return Step(np.moveaxis(picture, -1, 0), float(reward), terminated or truncated)

    return Player(environment, lambda: np.moveaxis(environment.reset()[0], -1, 0), step)


def read_frame_number(player: Player) -> int:
    """Return the number of the current frame in the episode."""
    return player.game.unwrapped.ale.getEpisodeFrameNumber()


def read_lives(player: Player) -> int:
    """Return the number of lives left in the game."""
    return player.game.unwrapped.ale.lives()


def list_first_frames(player: Player, games: int = 3) -> list[int]:
    """Return the frame at which the agent takes over, for several games."""
    frames = []
    for _ in range(games):
        player.reset()
        frames.append(read_frame_number(player))
    return frames


def play_until_life_is_lost(player: Player) -> Step:
    """Play with FIRE now and then, and no moves; return the step that loses the first life."""
    player.reset()
    before = read_lives(player)
    for number in range(800):
        step = player.step(FIRE if number % 8 == 0 else NOOP)
        if read_lives(player) < before:
            return step
    raise AssertionError("no life was lost in 800 steps without a move")


def test_games_begin_at_different_frames(framework: Adapter):
    """The agent takes over at another frame in one game than in the next."""
    # of a player that has not played: a reset after a lost life goes on with the same game
    player = framework.observe.make_atari_player(make_game_factory("Breakout"))
    assert len(set(list_first_frames(player))) > 1


def test_bare_games_begin_at_the_first_frame():
    """Control: without waiting every game begins at frame 0."""
    assert set(list_first_frames(make_bare_player("Breakout"))) == {0}


def test_an_action_lasts_four_frames(framework: Adapter):
    """The game advances by four frames for each action of the agent."""
    player = make_player(framework, "Breakout")
    player.reset()
    before = read_frame_number(player)
    for _ in range(5):
        player.step(NOOP)
    assert read_frame_number(player) - before == 20


def test_an_action_of_the_bare_game_lasts_one_frame():
    """Control: the game itself advances by one frame."""
    player = make_bare_player("Breakout")
    player.reset()
    player.step(NOOP)
    assert read_frame_number(player) == 1


def test_the_agent_sees_four_small_grey_frames(framework: Adapter):
    """An observation is four frames of 84 by 84, finite, and not of a single shade."""
    player = make_player(framework, "Breakout")
    player.reset()
    observations = [player.step(FIRE).observation for _ in range(6)]
    assert [observation.shape for observation in observations] == [(4, 84, 84)] * 6
    assert np.all(np.isfinite(observations))
    assert all(np.ptp(picture) > 0 for picture in observations[-1])


def test_the_bare_game_is_large_and_coloured():
    """Control: the game itself shows one frame of three colours, 210 by 160."""
    assert make_bare_player("Breakout").reset().shape == (3, 210, 160)


def test_a_lost_life_is_an_end_and_the_game_goes_on(framework: Adapter):
    """A lost life ends the episode or sets a flag, while the same game goes on with four lives."""
    player = make_player(framework, "Breakout")
    step = play_until_life_is_lost(player)
    assert step.done or step.signal
    before = read_frame_number(player)
    if step.done:
        player.reset()
    player.step(NOOP)
    assert read_lives(player) == 4
    assert read_frame_number(player) > before


def test_a_lost_life_does_not_end_the_bare_game():
    """Control: the game itself ends with its last life only."""
    step = play_until_life_is_lost(make_bare_player("Breakout"))
    assert not step.done


def play_until_first_reward(player: Player) -> float:
    """Shoot all the time; return the first reward that is not 0."""
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
    assert play_until_first_reward(make_player(framework, "Assault")) == 1.0


def test_the_bare_game_scores_more_than_one():
    """Control: the game itself gives 21 points for a hit."""
    assert play_until_first_reward(make_bare_player("Assault")) == 21.0

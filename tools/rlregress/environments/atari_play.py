"""Scenes of a game, played through the preprocessing of a framework.

A scene scripts the game, sends actions through the preprocessing, and returns the observations of
the agent and the actions that the game received. It knows no framework and has no expectations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlregress.environments.atari_fake import FIRE, NOOP, OTHER, AtariGame

#: stands for an action that was not sent, or a frame that is not shown
NOTHING = -1.0


class Step(NamedTuple):
    """The results of an action for the agent.

    Attributes:
        observation: [frames or colours, height, width].
        reward: a number.
        done: whether the episode has ended for the agent, which must reset.
        signal: a separate flag for a lost life or the end of the game.
    """

    observation: np.ndarray
    reward: float
    done: bool
    signal: bool = False


class Player(NamedTuple):
    """A game behind the preprocessing of a framework, or a part of it.

    Attributes:
        game: the game itself.
        reset: starts an episode; returns the observation [frames or colours, height, width].
        step: sends one action of the agent.
        reported: returns the logged return of the last finished episode.
    """

    game: Any
    reset: Callable[[], np.ndarray]
    step: Callable[[int], Step]
    reported: Callable[[], float] = lambda: float("nan")


def list_actions_of_reset(player: Player) -> list[int]:
    """Return the actions that the game receives before the first observation."""
    player.game.actions.clear()
    player.reset()
    return list(player.game.actions)


def summarize_noop_resets(few_actions: Sequence[int], many_actions: Sequence[int]) -> np.ndarray:
    """Return [fewest, most, whether all are action 0] of the shortest and longest resets."""
    only = all(action == NOOP for action in many_actions)
    return np.array([len(few_actions), len(many_actions), only], dtype=np.float64)


def summarize_fire_resets(with_fire: Sequence[int], without_fire: Sequence[int]) -> np.ndarray:
    """Return [number of actions, first, second, number of actions in a game without FIRE]."""
    first_two = [*map(float, with_fire[:2]), NOTHING, NOTHING][:2]
    return np.array([len(with_fire), *first_two, len(without_fire)], dtype=np.float64)


def play_reset_ended_by_second_action(player: Player) -> np.ndarray:
    """Return [colour, frame of the game] of a reset whose second action ends the game."""
    player.game.queue_frame()
    player.game.queue_frame(over=True)
    observation = player.reset()
    return np.array([observation[0, 0, 0], player.game.frames], dtype=np.float64)


def _play_lost_life(player: Player, lives_left: int) -> Step:
    player.game.queue_frame(lives=lives_left)
    return player.step(OTHER)


def play_lost_lives(player: Player) -> np.ndarray:
    """Return the effects of losing one of three lives, and of losing the last one.

    [done at the first loss, done or signal there, done or signal where the last life is lost,
    games started by the reset that a done asks for, actions sent by it, the first of them].
    """
    game = player.game
    player.reset()
    first = _play_lost_life(player, 2)
    game.actions.clear()
    games = game.resets
    if first.done:
        player.reset()
    sent, games = list(game.actions), game.resets - games
    if _play_lost_life(player, 1).done:
        player.reset()
    last = _play_lost_life(player, 0)
    signals = [first.done, first.done or first.signal, last.done or last.signal]
    return np.array([*signals, games, len(sent), sent[0] if sent else NOTHING], dtype=np.float64)


def play_reset_after_lost_life(player: Player) -> np.ndarray:
    """Lose a life, then reset, and let the game end in the first frame of that reset.

    Returns:
        [games started by the reset, colour of the observation].
    """
    player.reset()
    _play_lost_life(player, 2)
    player.game.queue_frame(over=True)
    games = player.game.resets
    observation = player.reset()
    return np.array([player.game.resets - games, observation[0, 0, 0]], dtype=np.float64)


def _queue_frames(game: AtariGame, frames: Sequence[Any], **columns: Sequence[Any]) -> None:
    for number, pixel in enumerate(frames):
        happens = {name: column[number] for name, column in columns.items()}
        game.queue_frame(pixel=int(pixel), **happens)


def play_one_action(player: Player, inputs: Mapping[str, Any]) -> np.ndarray:
    """Return [frames, reward, colour shown] of one action while ``pixels`` and ``rewards`` pass."""
    player.reset()
    player.game.actions.clear()
    _queue_frames(player.game, inputs["pixels"], reward=inputs["rewards"])
    step = player.step(OTHER)
    observation = step.observation[0, 0, 0]
    return np.array([len(player.game.actions), step.reward, observation], dtype=np.float64)


def play_end_within_action(player: Player, inputs: Mapping[str, Any]) -> np.ndarray:
    """Return [frames, reward, done] of one action if the game ends in frame ``ends_in``."""
    player.reset()
    player.game.actions.clear()
    rewards = inputs["rewards"]
    over = [number + 1 == inputs["ends_in"] for number in range(len(rewards))]
    _queue_frames(player.game, [0] * len(rewards), reward=rewards, over=over)
    step = player.step(OTHER)
    return np.array([len(player.game.actions), step.reward, step.done], dtype=np.float64)


def play_final_observation(player: Player, inputs: Mapping[str, Any]) -> np.ndarray:
    """Return [colour shown] of an action that ends the game, after one that did not."""
    player.reset()
    _queue_frames(player.game, inputs["before"])
    player.step(OTHER)
    last = inputs["at_end"]
    _queue_frames(player.game, last, over=[False] * (len(last) - 1) + [True])
    return np.array([player.step(OTHER).observation[0, 0, 0]], dtype=np.float64)


def play_warped_frame(player: Player, inputs: Mapping[str, Any]) -> np.ndarray:
    """Return [height, width, colours at ``row`` and the next row, in ``column``] of a picture."""
    observation = player.reset()[0]
    row, column = int(inputs["row"]), int(inputs["column"])
    return np.array(
        [*observation.shape, observation[row, column], observation[row + 1, column]],
        dtype=np.float64,
    )


def play_stacked_frames(player: Player) -> np.ndarray:
    """Return the colours of three stacks of frames, [12], the newest frame last.

    They are the stacks after the reset of a game, two steps later, and after the next reset.
    """
    first = player.reset()
    player.step(OTHER)
    second = player.step(OTHER).observation
    player.game.queue_frame(over=True)
    player.step(OTHER)
    third = player.reset()
    rows = []
    for stack in (first, second, third):
        colours = list(stack[-4:, 0, 0])
        rows.append([NOTHING] * (4 - len(colours)) + colours)
    return np.array(rows, dtype=np.float64).reshape(-1)


def play_rewards(player: Player, inputs: Mapping[str, Any]) -> np.ndarray:
    """Return the reward that the agent gets for each of ``rewards`` of the game."""
    player.reset()
    received = []
    for reward in inputs["rewards"]:
        player.game.queue_frame(reward=reward)
        received.append(player.step(OTHER).reward)
    return np.array(received, dtype=np.float64)


def play_game_through_all_wrappers(player: Player) -> np.ndarray:
    """Play a game of three actions; a life is lost, and the last action ends the game.

    [frames of the opening apart from FIRE and the action after it, frames of FIRE, the agent's
    reward for four frames of reward 2, the return that is reported when three more are won].
    """
    game = player.game
    start = list_actions_of_reset(player)
    waiting = sum(action in (NOOP, OTHER) for action in start)
    for _ in range(4):
        game.queue_frame(reward=2.0)
    reward = player.step(OTHER).reward
    for _ in range(4):
        game.queue_frame(lives=2)
    if player.step(OTHER).done:
        player.reset()
    game.queue_frame(reward=3.0, over=True)
    player.step(OTHER)
    numbers = [waiting, start.count(FIRE), reward, player.reported()]
    return np.array(numbers, dtype=np.float64)

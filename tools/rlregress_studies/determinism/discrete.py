"""Environments with discrete actions, and two ways to evaluate DQN that add no chance.

A game of the Arcade Learning Environment goes through Gymnasium's preprocessing: no-op starts, four
frames a step, 84 x 84 in grey, stacks of four pictures.

The evaluations are those of Nagarajan, Warnell and Stone (2018), sections 5.2 and 5.3: the score of
the greedy policy from start sequences that are the same for every agent, and the mean over held-out
states of the maximum Q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from rlregress import missing_packages
from rlregress.errors import UserError
from rlregress.probing.interface import Trained

#: begin of the names of games
GAMES = "ALE/"


def is_atari_game(name: str) -> bool:
    """Return whether a name is a game of the Arcade Learning Environment."""
    return name.startswith(GAMES)


def _register_atari_games(name: str) -> None:
    if not is_atari_game(name):
        return
    for module in ("ale_py", "cv2"):
        missing_packages.require_module(module)
    import ale_py

    gymnasium.register_envs(ale_py)


def check_dqn_can_be_trained(name: str) -> None:
    """Raise UserError unless DQN can be trained in the environment of this name."""
    _register_atari_games(name)
    try:
        environment: Any = gymnasium.make(name)
    except (gymnasium.error.Error, ImportError) as error:
        raise UserError(
            f"--environment is '{name}', which Gymnasium cannot make: "
            f"{str(error).rstrip('.')}; expected a name such as CartPole-v1 or ALE/Breakout-v5"
        ) from None
    actions, observations = environment.action_space, environment.observation_space
    environment.close()
    if not isinstance(actions, gymnasium.spaces.Discrete):
        raise UserError(
            f"--environment is '{name}', whose actions are {actions}; expected discrete ones, as "
            "DQN needs them"
        )
    if not is_atari_game(name) and (
        not isinstance(observations, gymnasium.spaces.Box) or len(observations.shape) != 1
    ):
        raise UserError(
            f"--environment is '{name}', whose observations are {observations}; expected vectors, "
            f"or a game, whose name begins with {GAMES}"
        )


def _convert_reward_to_sign(reward: Any) -> float:
    return float(np.sign(reward))


def make_environment(name: str, sticky: float = 0.0, training: bool = True) -> Any:
    """Return a new environment.

    Args:
        name: id of Gymnasium.
        sticky: probability with which a game repeats the previous action, at each frame.
        training: whether a lost life ends an episode of a game and rewards are signs; otherwise
            episodes are whole games and rewards are the score.
    """
    if not is_atari_game(name):
        return gymnasium.make(name)
    _register_atari_games(name)
    game: Any = gymnasium.make(name, frameskip=1, repeat_action_probability=sticky)
    wrapped: Any = gymnasium.wrappers.AtariPreprocessing(game, terminal_on_life_loss=training)
    wrapped = gymnasium.wrappers.FrameStackObservation(wrapped, 4)
    return (
        gymnasium.wrappers.TransformReward(wrapped, _convert_reward_to_sign)
        if training
        else wrapped
    )


@dataclass(frozen=True)
class Protocol:
    """The settings of an evaluation.

    Attributes:
        starts: number of start sequences of random actions.
        shortest, longest: length of these, in environment steps.
        cap: environment steps after which an episode is cut off.
        states: number of held-out states for the maximum Q.
        spacing: environment steps of a random policy for each of them.
    """

    starts: int = 100
    shortest: int = 14
    longest: int = 24
    cap: int = 4500
    states: int = 500
    spacing: int = 4


class Starts:
    """Start sequences and held-out states of one environment, the same in every process.

    Args:
        make_env: makes the environment, with whole episodes and unchanged rewards.
        protocol: numbers of sequences and states.

    Raises:
        UserError: episodes end before a start sequence does.
    """

    def __init__(self, make_env: Callable[[], Any], protocol: Protocol) -> None:
        self._protocol = protocol
        self._environments = [make_env() for _ in range(protocol.starts)]
        self._numbers = np.random.default_rng(0)
        self._actions = int(self._environments[0].action_space.n)
        self._sequences = [self._draw_sequence(n) for n in range(protocol.starts)]
        self._states = self._collect_held_out_states(make_env())

    def _draw_sequence(self, number: int) -> list[int]:
        protocol = self._protocol
        for _ in range(1000):
            length = self._numbers.integers(protocol.shortest, protocol.longest + 1)
            sequence: list[int] = self._numbers.integers(self._actions, size=length).tolist()
            if self._play_start(number, sequence) is not None:
                return sequence
        raise UserError(
            f"of 1000 sequences of {protocol.shortest} to {protocol.longest} random actions each "
            "ends an episode; expected an environment whose episodes are longer"
        )

    def _play_start(self, number: int, sequence: list[int]) -> Any:
        """Return the observation after a start sequence; None if the episode ends before."""
        environment = self._environments[number]
        observation, _ = environment.reset(seed=number)
        for action in sequence:
            observation, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                return None
        return np.asarray(observation)

    def _collect_held_out_states(self, environment: Any) -> np.ndarray:
        observations = []
        total = self._protocol.states * self._protocol.spacing
        observation, _ = environment.reset(seed=0)
        positions = set(self._numbers.choice(total, self._protocol.states, replace=False).tolist())
        for step in range(total):
            if step in positions:
                observations.append(np.asarray(observation))
            action = int(self._numbers.integers(self._actions))
            observation, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                observation, _ = environment.reset()
        environment.close()
        return np.stack(observations)

    def compute_mean_return(self, agent: Trained) -> float:
        """Return the mean return of the greedy policy after the start sequences."""
        observations = [self._play_start(n, sequence) for n, sequence in enumerate(self._sequences)]
        returns = np.zeros(len(observations))
        going = list(range(len(observations)))
        for _ in range(self._protocol.cap):
            if not going:
                break
            actions = agent.policy(np.stack([observations[n] for n in going]))
            unfinished = []
            for number, action in zip(going, np.ravel(actions), strict=True):
                environment = self._environments[number]
                observation, reward, terminated, truncated, _ = environment.step(int(action))
                observations[number] = np.asarray(observation)
                returns[number] += float(reward)
                if not (terminated or truncated):
                    unfinished.append(number)
            going = unfinished
        return float(returns.mean())

    def compute_maximum_q(self, agent: Trained) -> float:
        """Return the mean over the held-out states of the maximum Q."""
        return float(np.mean(agent.value(self._states).astype(np.float64)))

    def close(self) -> None:
        for environment in self._environments:
            environment.close()

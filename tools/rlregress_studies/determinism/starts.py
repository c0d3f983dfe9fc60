"""Two ways to evaluate DQN that add no chance of their own.

After Nagarajan, Warnell and Stone (2018), sections 5.2 and 5.3: the greedy policy from start
sequences that are the same for every agent, and the mean over held-out states of the maximum Q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlregress.errors import UserError
from rlregress.frameworks.base import Trained


@dataclass(frozen=True)
class Protocol:
    """How an agent is evaluated.

    Attributes:
        starts: sequences of random actions with which episodes begin.
        shortest, longest: length of these, in environment steps.
        cap: environment steps after which an episode is cut off.
        states: held out for the maximum Q.
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
        make_env: makes it, whole episodes, unchanged rewards.
        protocol: how many.

    Raises:
        UserError: episodes end before a start sequence does.
    """

    def __init__(self, make_env: Callable[[], Any], protocol: Protocol) -> None:
        self._protocol = protocol
        self._environments = [make_env() for _ in range(protocol.starts)]
        self._numbers = np.random.default_rng(0)
        self._actions = int(self._environments[0].action_space.n)
        self._sequences = [self._sequence(n) for n in range(protocol.starts)]
        self._states = self._held_out(make_env())

    def _sequence(self, number: int) -> list[int]:
        protocol = self._protocol
        for _ in range(1000):
            length = self._numbers.integers(protocol.shortest, protocol.longest + 1)
            sequence: list[int] = self._numbers.integers(self._actions, size=length).tolist()
            if self._begun(number, sequence) is not None:
                return sequence
        raise UserError(
            f"of 1000 sequences of {protocol.shortest} to {protocol.longest} random actions each "
            "ends an episode; expected an environment whose episodes are longer"
        )

    def _begun(self, number: int, sequence: list[int]) -> Any:
        """The observation after a start sequence; None if the episode has ended."""
        environment = self._environments[number]
        observation, _ = environment.reset(seed=number)
        for action in sequence:
            observation, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                return None
        return np.asarray(observation)

    def _held_out(self, environment: Any) -> np.ndarray:
        observations = []
        total = self._protocol.states * self._protocol.spacing
        observation, _ = environment.reset(seed=0)
        chosen = set(self._numbers.choice(total, self._protocol.states, replace=False).tolist())
        for step in range(total):
            if step in chosen:
                observations.append(np.asarray(observation))
            action = int(self._numbers.integers(self._actions))
            observation, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                observation, _ = environment.reset()
        environment.close()
        return np.stack(observations)

    def score(self, agent: Trained) -> float:
        """Mean return of the greedy policy after the start sequences."""
        observations = [self._begun(n, sequence) for n, sequence in enumerate(self._sequences)]
        returns = np.zeros(len(observations))
        going = list(range(len(observations)))
        for _ in range(self._protocol.cap):
            if not going:
                break
            actions = agent.policy(np.stack([observations[n] for n in going]))
            ended = set()
            for number, action in zip(going, np.ravel(actions), strict=True):
                observation, reward, terminated, truncated, _ = self._environments[number].step(
                    int(action)
                )
                observations[number] = np.asarray(observation)
                returns[number] += float(reward)
                if terminated or truncated:
                    ended.add(number)
            going = [number for number in going if number not in ended]
        return float(returns.mean())

    def maximum_value(self, agent: Trained) -> float:
        """Mean over the held-out states of the maximum Q."""
        return float(np.mean(agent.value(self._states).astype(np.float64)))

    def close(self) -> None:
        for environment in self._environments:
            environment.close()

"""The episodes of a training, as its own environments see them: a learning curve for nothing."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from rlregress.inside.evaluation import Episode

#: so many of the last episodes are kept whole
KEPT = 10


class Episodes:
    """The episodes that end in the environments of one training.

    Attributes:
        ended: (environment steps of all environments so far, undiscounted return in the
            environment's own reward unit, length in steps) of every episode that ended, in order.
    """

    def __init__(self) -> None:
        self.ended: list[tuple[int, float, int]] = []
        self._steps = 0
        self._kept: deque[tuple[int, Episode]] = deque(maxlen=KEPT)
        self._begun: Episode | None = None

    def counted(self, environment: Any) -> Any:
        """``environment``, unchanged for whoever steps it, with its episodes written down here."""
        return _Counted(environment, self)

    def latest(self) -> list[Episode]:
        """The last ``KEPT`` episodes that ended in the last third of the training so far.

        At least the last one; where none has ended, the one that is running, as if a time limit
        had cut it off. Their actions are those of the training, with its exploration.
        """
        latest = [episode for ended, episode in self._kept if ended > self._steps * 2 / 3]
        if latest:
            return latest
        last = self._kept[-1][1] if self._kept else self._begun
        return [last] if last is not None and last.rewards else []

    def _step(self, episode: Episode) -> None:
        self._steps += 1
        self._begun = episode

    def _end(self, episode: Episode) -> None:
        self.ended.append((self._steps, episode.total, len(episode.rewards)))
        self._kept.append((self._steps, episode))


def learning_curve(
    ended: Sequence[Sequence[Any]], total_steps: int, parts: int = 20
) -> list[list[float]]:
    """The mean return of the episodes that ended in each part of a training.

    Args:
        ended: (steps, return, length) of every episode, as ``Episodes.ended``;
            a return that is None was not finite.
        total_steps: environment steps of the training.
        parts: equal parts that it is divided into.

    Returns:
        [steps at the end of the part, mean return] of every part in which an episode ended.
    """
    made = []
    for part in range(1, parts + 1):
        first, last = total_steps * (part - 1) / parts, total_steps * part / parts
        returns = [value for at, value, _ in ended if value is not None and first < at <= last]
        if returns:
            made.append([last, sum(returns) / len(returns)])
    return made


def late_return(ended: Sequence[Sequence[Any]], total_steps: int) -> float | None:
    """The mean return of the episodes that ended in the last third of a training.

    Args:
        ended: as ``Episodes.ended``.
        total_steps: environment steps of the training.

    Returns:
        In the environment's own reward unit; of the last episode where none ended so late; None
        where none has ended at all, or a return is not finite.
    """
    late = [value for at, value, _ in ended if at > total_steps * 2 / 3]
    returns = late or [value for _, value, _ in ended[-1:]]
    if not returns or not all(math.isfinite(value) for value in returns):
        return None
    return sum(returns) / len(returns)


class _Counted(gymnasium.Wrapper):
    def __init__(self, environment: Any, episodes: Episodes) -> None:
        super().__init__(environment)
        self._episodes = episodes
        self._episode = Episode()

    def reset(self, **options: Any) -> Any:
        result = self.env.reset(**options)
        # copies: an environment may hand out the same array again and again
        self._episode = Episode([np.array(result[0])])
        return result

    def step(self, action: Any) -> Any:
        result = self.env.step(action)
        observation, reward, terminated, truncated = result[:4]
        episode = self._episode
        episode.observations.append(np.array(observation))
        episode.rewards.append(float(reward))
        episode.total += float(reward)
        episode.terminated = bool(terminated)
        self._episodes._step(episode)
        if terminated or truncated:
            self._episodes._end(episode)
        return result

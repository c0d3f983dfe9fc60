"""The episodes of a training in its own environments: a learning curve without evaluations."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from rlregress.inside.evaluation import Episode

#: the number of last episodes that are kept with observations and rewards
LATEST = 10


class Episodes:
    """The episodes that end in the environments of one training.

    Attributes:
        finished: (environment steps of all environments so far, undiscounted return in the
            environment's own reward unit, length in steps) of every finished episode, in order.
    """

    def __init__(self) -> None:
        self.finished: list[tuple[int, float, int]] = []
        self._steps = 0
        self._latest: deque[tuple[int, Episode]] = deque(maxlen=LATEST)
        self._running: Episode | None = None

    def wrap_environment(self, environment: Any) -> Any:
        """Return a wrapper that changes nothing and adds the environment's episodes here."""
        return _EpisodeWrapper(environment, self)

    def list_latest_episodes(self) -> list[Episode]:
        """Return the last ``LATEST`` episodes that ended in the last third of the training so far.

        At least the last one; if none has ended, the running one, as if a time limit had ended it.
        Their actions are those of the training, with its exploration.
        """
        latest = [episode for end, episode in self._latest if end > self._steps * 2 / 3]
        if latest:
            return latest
        last = self._latest[-1][1] if self._latest else self._running
        return [last] if last is not None and last.rewards else []

    def _note_step(self, episode: Episode, is_over: bool) -> None:
        self._steps += 1
        self._running = episode
        if is_over:
            self.finished.append((self._steps, episode.total, len(episode.rewards)))
            self._latest.append((self._steps, episode))


def compute_learning_curve(
    finished: Sequence[Sequence[Any]], total_steps: int, parts: int = 20
) -> list[list[float]]:
    """Return the mean return of the episodes that ended in each part of a training.

    Args:
        finished: (steps, return, length) of every episode, as ``Episodes.finished``;
            a return that is None was not finite.
        total_steps: environment steps of the training.
        parts: equal parts that it is divided into.

    Returns:
        [steps at the end of the part, mean return] of every part in which an episode ended.
    """
    curve = []
    for part in range(1, parts + 1):
        first, last = total_steps * (part - 1) / parts, total_steps * part / parts
        returns = [value for at, value, _ in finished if value is not None and first < at <= last]
        if returns:
            curve.append([last, sum(returns) / len(returns)])
    return curve


def compute_return_of_last_third(
    finished: Sequence[Sequence[Any]], total_steps: int
) -> float | None:
    """Return the mean return of the episodes that ended in the last third of a training.

    Args:
        finished: as ``Episodes.finished``.
        total_steps: environment steps of the training.

    Returns:
        In the environment's own reward unit. If no episode ended so late, the last one's return.
        None if no episode has ended, or a return is not finite.
    """
    late = [value for at, value, _ in finished if at > total_steps * 2 / 3]
    returns = late or [value for _, value, _ in finished[-1:]]
    if not returns or not all(math.isfinite(value) for value in returns):
        return None
    return sum(returns) / len(returns)


class _EpisodeWrapper(gymnasium.Wrapper):
    def __init__(self, environment: Any, episodes: Episodes) -> None:
        super().__init__(environment)
        self._episodes = episodes
        self._episode = Episode()

    def reset(self, **options: Any) -> Any:
        result = self.env.reset(**options)
        # copies: an environment may return the same array at every step
        self._episode = Episode([np.array(result[0])])
        return result

    def step(self, action: Any) -> Any:
        result = self.env.step(action)
        is_over = self._episode.add_step(*result[:4])
        self._episodes._note_step(self._episode, is_over)
        return result

"""The episodes of a training, as its own environments count them: a learning curve for nothing.

Runs inside foreign and old environments: gymnasium only, Python 3.9 syntax.
"""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

import gymnasium


class Episodes:
    """The episodes that end in the environments of one training.

    Attributes:
        ended: (environment steps of all environments so far, undiscounted return in the
            environment's own reward unit, length in steps) of every episode that ended, in order.
    """

    def __init__(self) -> None:
        self.ended: List[Tuple[int, float, int]] = []
        self._steps = 0

    def counted(self, environment: Any) -> Any:
        """``environment``, unchanged for whoever steps it, with its episodes written down here."""
        return _Counted(environment, self)

    def _step(self) -> None:
        self._steps += 1

    def _end(self, episode_return: float, length: int) -> None:
        self.ended.append((self._steps, episode_return, length))


def learning_curve(
    ended: Sequence[Sequence[Any]], total_steps: int, parts: int = 20
) -> List[List[float]]:
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


class _Counted(gymnasium.Wrapper):
    def __init__(self, environment: Any, episodes: Episodes) -> None:
        super().__init__(environment)
        self._episodes = episodes
        self._return = 0.0
        self._length = 0

    def reset(self, **options: Any) -> Any:
        self._return, self._length = 0.0, 0
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        result = self.env.step(action)
        self._return += float(result[1])
        self._length += 1
        self._episodes._step()
        if result[2] or result[3]:
            self._episodes._end(self._return, self._length)
        return result

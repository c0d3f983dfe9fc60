"""What SAC and TD3 scripts are fed: an environment of equal steps, draws of a probe's choice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.distributions import Normal

from rlregress.frameworks.cleanrl.stubs import Bag, replaced


class Playing:
    """One environment that every step of which is the same, and that keeps the actions received.

    As ``envs`` it answers in vectors of one and resets within the last step, as ``env`` it is a
    scalar environment. How many values a step has is what the script unpacks, five or, as in gym,
    four.

    Args:
        box: its spaces, and ``unpacked``, the number of values.
        reward, terminated, truncated: of every step.
    """

    def __init__(
        self, box: Bag, reward: float = 1.0, terminated: bool = False, truncated: bool = False
    ) -> None:
        self._unpacked = box.unpacked
        self._dimensions = box.observation_space.shape[0]
        self._reward = float(reward)
        self._flags = bool(terminated), bool(truncated)
        self.received: list[np.ndarray] = []
        first = self.observation
        one = Bag(step=self._step_one, reset=lambda: first, **vars(box))
        many = Bag(step=self._step_many, reset=lambda seed=None: (first[None], {}), **vars(box))
        self.names = {"env": one, "envs": many}

    @property
    def observation(self) -> np.ndarray:
        """What it shows, always."""
        return np.full(self._dimensions, 0.5, dtype=np.float32)

    def _step_one(self, action: Any) -> Any:
        self.received.append(np.array(action, dtype=np.float64))
        return self.observation, self._reward, any(self._flags), self._limit()

    def _limit(self) -> dict[str, Any]:
        terminated, truncated = self._flags
        return {"TimeLimit.truncated": True} if truncated and not terminated else {}

    def _step_many(self, actions: Any) -> Any:
        self.received.append(np.array(actions[0], dtype=np.float64))
        terminated, truncated = (np.array([flag]) for flag in self._flags)
        ended = any(self._flags)
        if self._unpacked == 4:
            about = {"terminal_observation": self.observation, **self._limit()} if ended else {}
            rewards = np.array([self._reward])
            return self.observation[None], rewards, terminated | truncated, [about]
        infos: dict[str, Any] = {}
        if ended:
            last = np.empty(1, dtype=object)
            last[0] = self.observation
            infos["final_observation"] = last
        return self.observation[None], np.array([self._reward]), terminated, truncated, infos


@contextmanager
def sampled(pre_tanh: Any = None) -> Iterator[list[torch.Tensor]]:
    """Gaussians give this sample, or their mean; yields the standard deviations of each, in order.

    ``pre_tanh`` is a number or one for each action dimension.
    """
    deviations: list[torch.Tensor] = []

    def rsample(law: Normal, sample_shape: Any = ()) -> torch.Tensor:
        del sample_shape
        deviations.append(law.scale.detach())
        if pre_tanh is None:
            return law.mean
        chosen = torch.as_tensor(np.asarray(pre_tanh, dtype=np.float64), dtype=law.loc.dtype)
        return 0.0 * law.mean + chosen

    with replaced(Normal, "rsample", rsample):
        yield deviations

"""The evaluation protocol: deterministic episodes in separate environments.

Nothing here draws from a global random generator, so a training has the same bits with and without
an evaluation in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlregress.probing.interface import Policy

#: evaluation environment i is reset with this + i: seeds that no training uses
FIRST_SEED = 1_000_000


@dataclass
class Episode:
    """One episode of an evaluation.

    Attributes:
        observations: of the environment without wrappers, [*observation_shape] each, also the last.
        rewards: one for each step.
        terminated: it ended by termination; otherwise a time limit cut it off.
        total: undiscounted return; NaN if the actions of an evaluated policy were not finite.
    """

    observations: list[np.ndarray] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terminated: bool = False
    total: float = 0.0

    def add_step(self, observation: Any, reward: Any, terminated: Any, truncated: Any) -> bool:
        """Add what a step of the environment returned; return whether the episode is over."""
        # a copy: an environment may return the same array at every step
        self.observations.append(np.array(observation))
        self.rewards.append(float(reward))
        self.total += float(reward)
        self.terminated = bool(terminated)
        return bool(terminated or truncated)


class Evaluator:
    """Runs one deterministic episode in each of ``episodes`` environments, stepped side by side.

    All evaluations of all trainings start from the same initial states (reset seeds
    ``FIRST_SEED``, ``FIRST_SEED + 1``, ...), so that differences between runs are differences
    between policies.
    """

    def __init__(self, make_env: Callable[[], Any], episodes: int) -> None:
        self._environments = [make_env() for _ in range(episodes)]

    def play_episodes(self, policy: Policy) -> list[Episode]:
        """Return one episode per environment.

        A policy that returns a non-finite action ends all running episodes with the return NaN.
        """
        environments = self._environments
        observations = [
            environment.reset(seed=FIRST_SEED + number)[0]
            for number, environment in enumerate(environments)
        ]
        # copies: an environment may return the same array at every step
        episodes = [Episode([np.array(observation)]) for observation in observations]
        running = list(range(len(environments)))
        while running:
            actions = policy(np.stack([observations[number] for number in running]))
            if not np.all(np.isfinite(actions)):
                for number in running:
                    episodes[number].total = float("nan")
                break
            still_running = []
            for number, action in zip(running, actions, strict=False):
                observations[number], *rest = environments[number].step(action)
                if not episodes[number].add_step(observations[number], *rest[:3]):
                    still_running.append(number)
            running = still_running
        return episodes

    def close_environments(self) -> None:
        for environment in self._environments:
            environment.close()

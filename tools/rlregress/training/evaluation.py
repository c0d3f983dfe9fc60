"""The evaluation protocol: deterministic episodes on environments of their own.

Nothing here draws from a global random generator, so an evaluation leaves the training that it
interrupts bit-identical.
"""

from __future__ import annotations

from typing import Any, Callable, List

import numpy as np

from rlregress.frameworks.base import Policy

#: evaluation environment i is reset with this + i: seeds that no training uses
FIRST_SEED = 1_000_000


class Evaluator:
    """Runs one deterministic episode in each of ``episodes`` environments, stepped side by side.

    All evaluations of all trainings start from the same initial states (reset seeds
    ``FIRST_SEED``, ``FIRST_SEED + 1``, ...), so that differences between runs are differences
    between policies.
    """

    def __init__(self, make_env: Callable[[], Any], episodes: int) -> None:
        self._environments = [make_env() for _ in range(episodes)]

    def returns(self, policy: Policy) -> List[float]:
        """Undiscounted returns of one episode per environment, in the environment's reward unit.

        A policy that answers with a non-finite action ends all running episodes as NaN.
        """
        environments = self._environments
        observations = [
            environment.reset(seed=FIRST_SEED + number)[0]
            for number, environment in enumerate(environments)
        ]
        returns = [0.0] * len(environments)
        running = list(range(len(environments)))
        while running:
            actions = policy(np.stack([observations[number] for number in running]))
            if not np.all(np.isfinite(actions)):
                for number in running:
                    returns[number] = float("nan")
                break
            still_running = []
            for number, action in zip(running, actions):
                observations[number], reward, terminated, truncated, _ = environments[number].step(
                    action
                )
                returns[number] += float(reward)
                if not (terminated or truncated):
                    still_running.append(number)
            running = still_running
        return returns

    def close(self) -> None:
        for environment in self._environments:
            environment.close()

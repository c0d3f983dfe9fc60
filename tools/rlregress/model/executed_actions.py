"""The actions that frameworks execute of one policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: bounds of the one action
LOW, HIGH = -1.0, 1.0


@dataclass(frozen=True, kw_only=True)
class Actions:
    """Of a policy that says the same of every observation.

    Attributes:
        framework: its title.
        mean, variance: of the Gaussian before it is bounded.
        executed: float [n], as the environment received them in a rollout.
        deterministic: the action without exploration.
    """

    framework: str
    mean: float
    variance: float
    executed: np.ndarray
    deterministic: float

"""The loss of the Q networks of SAC and TD3, measured where these return known numbers.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Inputs = Mapping[str, Any]
#: (inputs, number of each Q network) -> the loss of terminations with the reward of the inputs
Loss = Callable[[Inputs, Sequence[float]], float]


def scale(loss: Loss, i: Inputs) -> np.ndarray:
    """Loss of two networks."""
    return np.array([loss(i, i["q_values"])])


def reduction(loss: Loss, i: Inputs) -> np.ndarray:
    """Loss of three networks over that of the first two."""
    return np.array([loss(i, i["q_values"]) / loss(i, i["q_values"][:2])])


def distance(loss: Loss, i: Inputs) -> np.ndarray:
    """Loss at each error over that at the first."""
    losses = np.array([loss(i, [float(i["reward"]) + error] * 2) for error in i["errors"]])
    return losses[1:] / losses[0]

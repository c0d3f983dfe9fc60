"""TQC, driven as SAC is, of which it is made."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rlregress.frameworks.contrib.observe.drivers.quantile_targets import observed_targets
from rlregress.frameworks.sb3.observe.drivers import twins


class QuantileDriver(twins.Driver):
    """An agent whose targets go to its own distance function, and to none of PyTorch's."""

    def target(self, values: Sequence[float]) -> float:
        with observed_targets(_hand_over):
            return super().target(values)

    def first_update(self, target_value: float) -> tuple[float, float]:
        with observed_targets(_hand_over):
            return super().first_update(target_value)


def _hand_over(target: torch.Tensor) -> None:
    torch.nn.functional.mse_loss(target, target)

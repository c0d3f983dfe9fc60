"""The driver of TQC, which extends SAC."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rlregress.frameworks.contrib.observe.drivers.quantile_targets import call_with_targets
from rlregress.frameworks.sb3.observe.drivers import twins


class QuantileDriver(twins.Driver):
    """An agent whose targets go to its own distance function, not to one of PyTorch."""

    def compute_target(self, q_values: Sequence[float]) -> float:
        with call_with_targets(_pass_target_to_mse_loss):
            return super().compute_target(q_values)

    def run_first_update(self, target_value: float) -> tuple[float, float]:
        with call_with_targets(_pass_target_to_mse_loss):
            return super().run_first_update(target_value)


def _pass_target_to_mse_loss(target: torch.Tensor) -> None:
    # the driver of SAC observes the arguments of this function
    torch.nn.functional.mse_loss(target, target)

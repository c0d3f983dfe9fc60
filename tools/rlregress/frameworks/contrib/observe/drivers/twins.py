"""The driver of TQC, which extends SAC."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rlregress.frameworks.contrib.observe.drivers.quantile_targets import call_with_quantile_targets
from rlregress.frameworks.sb3.observe.drivers import twins


class QuantileDriver(twins.Driver):
    """An agent of TQC, whose loss is a quantile distance and not a function of PyTorch."""

    def compute_target(self, q_values: Sequence[float]) -> float:
        with call_with_quantile_targets(_pass_target_to_mse_loss):
            return super().compute_target(q_values)

    def compute_first_target_and_actor_loss(self, target_value: float) -> tuple[float, float]:
        with call_with_quantile_targets(_pass_target_to_mse_loss):
            return super().compute_first_target_and_actor_loss(target_value)


def _pass_target_to_mse_loss(target: torch.Tensor) -> None:
    # the driver of SAC observes the arguments of this function
    torch.nn.functional.mse_loss(target, target)

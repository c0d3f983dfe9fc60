"""A hook on the loss function of TQC's critics, which is called with their targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from sb3_contrib.tqc import tqc


@contextmanager
def call_with_quantile_targets(callback: Callable[[torch.Tensor], Any]) -> Iterator[None]:
    """Call ``callback`` with the target quantiles of every loss that is computed in the block."""
    distance = tqc.quantile_huber_loss

    def observe_and_compute_loss(
        current: torch.Tensor, target: torch.Tensor, **keywords: Any
    ) -> torch.Tensor:
        callback(target)
        return distance(current, target, **keywords)

    with mock.patch.object(tqc, "quantile_huber_loss", observe_and_compute_loss):
        yield

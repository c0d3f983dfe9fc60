"""The output layers of an agent, which a test sets before its first step.

If a policy outputs the same for every observation, the distribution of its actions is known. A
value of twice the scale belongs to rewards of twice the scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn


@dataclass(frozen=True)
class Heads:
    """The output layers of an agent, as adapters pass them to ``TrainingRequest.prepare``.

    Attributes:
        location: the layer whose outputs contain the mean of the Gaussian, or the action of a
            deterministic policy, before the bounding.
        set_deviation: (standard deviation [dimensions]) -> sets that Gaussian's for every
            observation; None: a deterministic policy has none.
        values: the layers that output state values or action values; those of target networks too.
        repeated: how often ``location`` outputs its numbers, one set after the other: quantiles.
    """

    location: Any
    set_deviation: Callable[[torch.Tensor], None] | None = None
    values: Sequence[Any] = ()
    repeated: int = 1

    def fix_policy_output(self, location: Sequence[float], deviation: Sequence[float]) -> None:
        """Make the policy output the same distribution or action for every observation.

        Args:
            location: [dimensions], before the bounding.
            deviation: [dimensions], in the same units; of no effect on a deterministic policy.
        """
        numbers = torch.as_tensor(location, dtype=torch.float32).repeat(self.repeated)
        with torch.no_grad():
            self.location.weight[: len(numbers)] = 0.0
            self.location.bias[: len(numbers)] = numbers
            if self.set_deviation is not None:
                self.set_deviation(torch.as_tensor(deviation, dtype=torch.float32))

    def scale_value_outputs(self, factor: float) -> None:
        """Multiply the outputs of the value networks."""
        with torch.no_grad():
            for layer in self.values:
                layer.weight *= factor
                layer.bias *= factor


def call_prepare_with_heads(request: Any, make_heads: Callable[[], Heads]) -> None:
    """Call the ``prepare`` of a ``TrainingRequest``, if any, with the heads of its agent."""
    if request.prepare is not None:
        request.prepare(make_heads())


@contextmanager
def fix_draws_of_normal_distributions(multiples: Any) -> Iterator[list[torch.Tensor]]:
    """Make each Gaussian draw its mean plus these multiples of its deviation, [n, dimensions].

    Yields a list that gets the deviation of each draw.
    """
    numbers = torch.as_tensor(np.asarray(multiples, dtype=np.float64))
    deviations: list[torch.Tensor] = []

    def draw_mean_plus_multiples(law: Any, sample_shape: Any = ()) -> torch.Tensor:
        del sample_shape
        deviations.append(law.scale.detach())
        return law.loc + law.scale * numbers.to(law.loc.dtype)

    with ExitStack() as around:
        for name in ("sample", "rsample"):
            around.enter_context(
                mock.patch.object(torch.distributions.Normal, name, draw_mean_plus_multiples)
            )
        yield deviations


def make_deviation_setter_of_layer(
    layer: nn.Linear, outputs: slice, inverse: Callable[[Any], Any]
) -> Any:
    """Return ``Heads.set_deviation`` of a policy in which outputs of a layer encode the deviation.

    Args:
        outputs: the outputs of the layer that encode it.
        inverse: standard deviation -> the output that encodes it.
    """

    def set_deviation(deviation: torch.Tensor) -> None:
        layer.weight[outputs] = 0.0
        layer.bias[outputs] = inverse(deviation)

    return set_deviation


def make_deviation_setter_of_parameter(parameter: Any, inverse: Callable[[Any], Any]) -> Any:
    """Return ``Heads.set_deviation`` of a policy in which a parameter encodes the deviation."""

    def set_deviation(deviation: torch.Tensor) -> None:
        parameter.copy_(inverse(deviation).reshape(parameter.shape))

    return set_deviation

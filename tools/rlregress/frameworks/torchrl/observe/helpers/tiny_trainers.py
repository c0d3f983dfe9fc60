"""Tiny rollouts of TorchRL's collector, and the policy of most of them."""

from __future__ import annotations

from typing import Any

import torch

from rlregress.frameworks.torchrl.api import Collector, TanhNormal
from rlregress.frameworks.torchrl.compat import call_with_newest_keywords, find_action_spec
from rlregress.frameworks.torchrl.known_networks import FixedLocScale, make_stochastic_policy
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.probing.scripted import Scripted

SINGLE = torch.float32


def collect_batch(environment: Any, frames: int, actor: Any = None, **options: Any) -> Any:
    """Collect one batch in an environment of TorchRL, [frames]; without an actor by random actions.

    Collector and environment run in this process.
    """
    collector = call_with_newest_keywords(
        Collector, environment, actor, frames_per_batch=frames, total_frames=frames, **options
    )
    (batch,) = list(collector)
    collector.shutdown()
    return batch


def make_squashed_policy(environment: Scripted, loc: list[float], scale: float) -> Any:
    """Return a tanh Gaussian within the bounds of the environment, equal in all states."""
    spec = find_action_spec(wrap_environment(environment))
    return make_stochastic_policy(
        FixedLocScale(loc, [scale] * len(loc), SINGLE),
        spec,
        TanhNormal,
        low=spec.space.low,
        high=spec.space.high,
    )

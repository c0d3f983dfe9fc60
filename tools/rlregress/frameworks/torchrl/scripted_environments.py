"""Scripted environments as TorchRL sees them, tiny rollouts in them, and a policy for these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium
import torch

from rlregress.frameworks.torchrl.api import Collector, GymWrapper, SerialEnv, TanhNormal
from rlregress.frameworks.torchrl.compat import call_with_newest_keywords, find_action_spec
from rlregress.frameworks.torchrl.known_networks import FixedLocScale, make_stochastic_policy

#: the id of what ``register_environment`` makes known.
REGISTERED = "RLRegressPlayback-v0"


def wrap_environment(environment: gymnasium.Env) -> GymWrapper:
    """Wrap an environment for TorchRL."""
    return GymWrapper(environment, device="cpu")


def put_side_by_side(makers: Sequence[Callable[[], Any]]) -> Any:
    """Return the environment of the only maker, or a ``SerialEnv`` of those of several."""
    return makers[0]() if len(makers) == 1 else SerialEnv(len(makers), list(makers))


@contextmanager
def register_environment(
    make_env: Callable[..., Any], id: str = REGISTERED, **options: Any
) -> Iterator[str]:
    """Register a maker of environments by an id within the block, and yield the id."""
    gymnasium.register(id=id, entry_point=make_env, disable_env_checker=True, **options)
    try:
        yield id
    finally:
        gymnasium.registry.pop(id)


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


def make_squashed_policy(environment: gymnasium.Env, loc: list[float], scale: float) -> Any:
    """Return a tanh Gaussian within the bounds of the environment, equal in all states."""
    spec = find_action_spec(wrap_environment(environment))
    return make_stochastic_policy(
        FixedLocScale(loc, [scale] * len(loc), torch.float32),
        spec,
        TanhNormal,
        low=spec.space.low,
        high=spec.space.high,
    )

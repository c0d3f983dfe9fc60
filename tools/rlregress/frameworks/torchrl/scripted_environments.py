"""Scripted environments as TorchRL sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium

from rlregress.frameworks.torchrl.api import GymWrapper

#: the id of what ``register_environment`` makes known.
REGISTERED = "RLRegressPlayback-v0"


def wrap_environment(environment: gymnasium.Env) -> GymWrapper:
    """Wrap an environment for TorchRL."""
    return GymWrapper(environment, device="cpu")


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

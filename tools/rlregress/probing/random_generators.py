"""The global random generators of Python, NumPy and torch: seeded, saved and restored together."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def seed_generators(seed: int) -> None:
    """Seed the generators of Python, NumPy and torch; torch's is that of the CPU.

    For other kinds of device ``torch.manual_seed`` keeps a traceback, which takes longer than most
    calls.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)


def read_generator_states() -> dict[str, Any]:
    """Return the states of all three generators."""
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state(),
    }


def restore_generator_states(states: Mapping[str, Any]) -> None:
    """Restore the states that ``read_generator_states`` returned."""
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])


@contextmanager
def restore_generator_states_after() -> Iterator[None]:
    """Restore the states of all three generators at the end of the block."""
    states = read_generator_states()
    try:
        yield
    finally:
        restore_generator_states(states)


def read_comparable_states() -> dict[str, Any]:
    """Return the states of all three generators in a form that can be compared."""
    states = read_generator_states()
    kind, keys, *further = states["numpy"]
    return {
        "python": states["python"],
        "numpy": (kind, keys.tobytes(), *further),
        "torch": states["torch"].numpy().tobytes(),
    }

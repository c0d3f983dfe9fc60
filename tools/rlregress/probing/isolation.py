"""Isolation of probes from each other: none sees random draws of another."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from unittest import mock

from rlregress.probing.interface import Inputs, Probe

if TYPE_CHECKING:
    import numpy as np

_shift = 0


def shift_all_seeds(shift: int) -> None:
    """Shift the seeds of all probes, and trainings of behaviour tests, of this process.

    Assertions have to hold for every seed.
    """
    global _shift
    _shift = shift


def shift_seed(seed: int) -> int:
    """Return a seed plus the shift that ``shift_all_seeds`` has set."""
    return seed + _shift


@contextlib.contextmanager
def isolate_random_generators() -> Iterator[None]:
    """Seed the generators of random, NumPy and torch (CPU) in the block; restore them after it.

    Torch has one thread: with more, operations on a few numbers wait for each other on a busy
    machine. Afterwards all is restored, torch's default type too.
    """
    import torch

    from rlregress.probing import random_generators

    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    with random_generators.restore_generator_states_after():
        try:
            torch.set_num_threads(1)
            random_generators.seed_generators(shift_seed(0))
            yield
        finally:
            torch.set_num_threads(threads)
            torch.set_default_dtype(dtype)


@contextlib.contextmanager
def _seed_spaces_and_environments() -> Iterator[None]:
    """Make gymnasium use fixed seeds for spaces and environments that are not seeded.

    Frameworks draw random actions from such spaces.
    """
    seeds = itertools.count(shift_seed(0))
    with contextlib.ExitStack() as patches:
        for library in ("gymnasium", "gym"):
            seeding = sys.modules.get(f"{library}.utils.seeding")
            if seeding is not None:
                patches.enter_context(
                    mock.patch.object(
                        seeding, "np_random", _replace_missing_seed(seeding.np_random, seeds)
                    )
                )
        yield


def _replace_missing_seed(make_generator: Any, seeds: Iterator[int]) -> Any:
    return lambda seed=None: make_generator(next(seeds) if seed is None else seed)


def run_probe_isolated(probe: Probe, inputs: Inputs) -> Any:
    """Call a probe in isolation, and return its result. Every probe is called by this function.

    What it prints goes to standard error, so that it stands in no result of a command.

    Raises:
        RuntimeError: it would have ended the command that asks, as if nothing were wrong.
    """
    printed = contextlib.redirect_stdout(sys.stderr)
    with isolate_random_generators(), _seed_spaces_and_environments(), printed:
        try:
            return probe(inputs)
        except (SystemExit, GeneratorExit) as error:
            text = f"it ended with {type(error).__name__}({error})"
            raise RuntimeError(text).with_traceback(error.__traceback__) from None


def convert_observation(observed: object) -> np.ndarray:
    """Return what a probe observed as a vector of float64, a number as one of length 1.

    Raises:
        TypeError: it is neither numbers nor an array of them; says what it is.
    """
    import numpy as np

    try:
        # NumPy makes numbers of a text, a complex number and nothing, too
        if observed is None or np.asarray(observed).dtype.kind in "cSU":
            raise TypeError
        return np.atleast_1d(np.asarray(observed, dtype=np.float64))
    except Exception:  # whatever the conversion of a foreign object raises
        raise TypeError(f"not a float vector: {observed!r}") from None

"""Random generators under a recorder: seeded if the script does not, and noted if it draws then."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rlregress.probing.framework_errors import call_through
from rlregress.probing.random_generators import read_comparable_states

#: the seed of generators that the script does not seed. No script uses it: a lost seed shows.
SEED = 1_234_567
_NAMES = {
    "python": "Python's generator", "numpy": "NumPy's generator", "torch": "torch's generator",
}  # fmt: skip
#: characters of a script's seed that are kept: it may be an array.
_LONGEST = 100


def _read_states() -> dict[str, Any]:
    """Return the state of each generator, by its name in reports."""
    return {_NAMES[library]: state for library, state in read_comparable_states().items()}


def seed_generators(recorder: Any) -> None:
    """Seed every generator, and note at the end which of them the script used and did not seed."""
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    initial = _read_states()
    unseeded = set(initial)

    def note_seed(generator: str, seed: Any) -> None:
        # a script may draw before it seeds, such as the seed itself
        if generator in unseeded and _read_states()[generator] != initial[generator]:
            recorder.note_seeding(generator)
        unseeded.discard(generator)
        recorder.seeds.setdefault(generator, " ".join(str(seed).split())[:_LONGEST])

    def note_used() -> None:
        states = _read_states()
        if torch.initial_seed() != SEED:
            # by a method of the generator itself, which is not replaced
            unseeded.discard("torch's generator")
        for generator in sorted(unseeded):
            if states[generator] != initial[generator]:
                recorder.note_seeding(generator)

    recorder.on_exit(note_used)
    for owner, name, generator in (
        (torch, "manual_seed", "torch's generator"),
        (torch.random, "manual_seed", "torch's generator"),
        (np.random, "seed", "NumPy's generator"),
        (random, "seed", "Python's generator"),
    ):
        recorder.patch(owner, name, _wrap_seeding(getattr(owner, name), note_seed, generator))
    make = np.random.default_rng

    def default_rng(seed: Any = None) -> Any:
        if seed is None:
            recorder.note_seeding("generators made by numpy.random.default_rng()")
            seed = SEED
        return call_through(make, seed)

    recorder.patch(np.random, "default_rng", default_rng)


def _wrap_seeding(original: Callable[..., Any], note: Any, generator: str) -> Callable[..., Any]:
    def seeding(*arguments: Any, **options: Any) -> Any:
        values = [*arguments, *options.values()]
        if not values or values[0] is None:
            # without a seed the clock would give one
            return call_through(original, SEED)
        note(generator, values[0])
        return call_through(original, *arguments, **options)

    return seeding

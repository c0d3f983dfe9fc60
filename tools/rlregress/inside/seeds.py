"""Seeds random generators under a recorder, and notes those that a script uses without seeding."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rlregress.probing.framework_errors import call_original
from rlregress.probing.random_generators import read_comparable_states

#: the seed of generators that a script does not seed; one that no script is likely to use itself.
SEED = 1_234_567
_NAMES = {
    "python": "Python's generator", "numpy": "NumPy's generator", "torch": "torch's generator",
}  # fmt: skip
#: the most characters of a script's seed that are kept: a seed may be an array.
_LONGEST = 100


def _read_generator_states() -> dict[str, Any]:
    """Return random generator (by its name in reports) -> its state."""
    return {_NAMES[library]: state for library, state in read_comparable_states().items()}


def seed_all_generators(recorder: Any) -> None:
    """Seed every generator, and note at the end which ones the script used and did not seed."""
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    initial = _read_generator_states()
    unseeded = set(initial)

    def note_seed_by_script(generator: str, seed: Any) -> None:
        # a script may draw before it seeds, such as the seed itself
        if generator in unseeded and _read_generator_states()[generator] != initial[generator]:
            recorder.note_seeded_generator(generator)
        unseeded.discard(generator)
        recorder.seeds.setdefault(generator, " ".join(str(seed).split())[:_LONGEST])

    def note_unseeded_generators() -> None:
        states = _read_generator_states()
        if torch.initial_seed() != SEED:
            # by a method of the generator itself, which is not replaced
            unseeded.discard("torch's generator")
        for generator in sorted(unseeded):
            if states[generator] != initial[generator]:
                recorder.note_seeded_generator(generator)

    recorder.call_on_exit(note_unseeded_generators)
    for owner, name, generator in (
        (torch, "manual_seed", "torch's generator"),
        (torch.random, "manual_seed", "torch's generator"),
        (np.random, "seed", "NumPy's generator"),
        (random, "seed", "Python's generator"),
    ):
        recorder.patch_until_exit(
            owner,
            name,
            _wrap_seeding_function(getattr(owner, name), note_seed_by_script, generator),
        )
    make = np.random.default_rng

    def default_rng(seed: Any = None) -> Any:
        if seed is None:
            recorder.note_seeded_generator("generators made by numpy.random.default_rng()")
            seed = SEED
        return call_original(make, seed)

    recorder.patch_until_exit(np.random, "default_rng", default_rng)


def _wrap_seeding_function(
    original: Callable[..., Any], note: Any, generator: str
) -> Callable[..., Any]:
    def note_and_seed(*arguments: Any, **options: Any) -> Any:
        values = [*arguments, *options.values()]
        if not values or values[0] is None:
            # without a seed the clock would give one
            return call_original(original, SEED)
        note(generator, values[0])
        return call_original(original, *arguments, **options)

    return note_and_seed

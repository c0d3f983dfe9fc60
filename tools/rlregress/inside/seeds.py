"""The generators under a recorder: seeded where the script does not, and told where it matters."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rlregress.probing.framework_errors import through

#: given to whatever the script does not seed; no script's own, so that a lost seed shows.
SEED = 1_234_567
#: characters of a script's seed that are kept: it may be an array.
_LONGEST = 100


def _states() -> dict[str, Any]:
    """The state of each generator, in a form that can be compared."""
    kind, keys, place, has_gauss, gauss = np.random.get_state(legacy=True)
    return {
        "torch's generator": torch.get_rng_state().numpy().tobytes(),
        "NumPy's generator": (kind, np.asarray(keys).tobytes(), place, has_gauss, gauss),
        "Python's generator": random.getstate(),
    }


def install(recorder: Any) -> None:
    """Seed every generator, and note at the end which of them the script only used."""
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    begun, left = _states(), set(_states())

    def used(what: str, seed: Any) -> None:
        # a script that draws the seed itself, too
        if what in left and _states()[what] != begun[what]:
            recorder.unseeded(what)
        left.discard(what)
        recorder.seeds.setdefault(what, " ".join(str(seed).split())[:_LONGEST])

    def note() -> None:
        states = _states()
        if torch.initial_seed() != SEED:
            # by a method of the generator itself
            left.discard("torch's generator")
        for what in sorted(left):
            if states[what] != begun[what]:
                recorder.unseeded(what)

    recorder.on_exit(note)
    for owner, name, what in (
        (torch, "manual_seed", "torch's generator"),
        (torch.random, "manual_seed", "torch's generator"),
        (np.random, "seed", "NumPy's generator"),
        (random, "seed", "Python's generator"),
    ):
        recorder.replace(owner, name, _seeding(getattr(owner, name), used, what))
    make = np.random.default_rng

    def default_rng(seed: Any = None) -> Any:
        if seed is None:
            recorder.unseeded("generators made by numpy.random.default_rng()")
            seed = SEED
        return through(make, seed)

    recorder.replace(np.random, "default_rng", default_rng)


def _seeding(original: Callable[..., Any], used: Any, what: str) -> Callable[..., Any]:
    def seeding(*arguments: Any, **options: Any) -> Any:
        given = [*arguments, *options.values()]
        if not given or given[0] is None:
            # asked for a seed of the clock: one of the tracer's
            return through(original, SEED)
        used(what, given[0])
        return through(original, *arguments, **options)

    return seeding

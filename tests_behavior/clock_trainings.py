"""Short trainings on clocks, and the minibatches that their updates read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from rlregress.frameworks.base import Adapter
from rlregress.probing.interface import PLAIN, Minibatch, TrainingRequest, TrainingVariant
from rlregress.probing.isolation import shift_seed
from tests_behavior.action_spaces import made_for
from tests_behavior.counter import numbered
from tests_behavior.toy_settings import setting


def joined(minibatches: Sequence[Minibatch]) -> Minibatch:
    """Minibatches one after the other, as one."""
    names = [field.name for field in fields(Minibatch)]
    rows = {name: [getattr(minibatch, name) for minibatch in minibatches] for name in names}
    return Minibatch(
        **{n: None if parts[0] is None else np.concatenate(parts) for n, parts in rows.items()}
    )


def hyperparameters(framework: Adapter, algorithm: str, **changes: Any) -> Mapping[str, Any]:
    """Those of the topic "minibatches", with further changes."""
    return {**setting(framework.name, "minibatches", algorithm).hyperparameters, **changes}


def environments_of(framework: Adapter, algorithm: str, wanted: int) -> int:
    """As many environments as are wanted, or as the framework takes for the algorithm."""
    return setting(framework.name, "minibatches", algorithm).environments(wanted)


def is_on_policy(framework: Adapter, algorithm: str) -> bool:
    """Return whether updates are documented to read returns, and not to sample a buffer."""
    return "returns" in setting(framework.name, "minibatches", algorithm).reads


def request(
    framework: Adapter,
    algorithm: str,
    make: Callable[[int], Any],
    environments: int,
    steps: int,
    prepare: Callable[[Any], None] | None = None,
    **changes: Any,
) -> TrainingRequest:
    """A training of so many steps in each of environments that are numbered from 0."""
    return TrainingRequest(
        algorithm=algorithm,
        # a framework may make one more first, only to look at its spaces
        make_env=numbered(lambda number: made_for(algorithm, make(number % environments))),
        hyperparameters=hyperparameters(framework, algorithm, **changes),
        total_steps=environments * steps,
        seed=shift_seed(0),
        prepare=prepare,
    )


@cache
def _read(
    framework: Adapter,
    algorithm: str,
    make: Callable[[int], Any],
    environments: int,
    steps: int,
    around: TrainingVariant,
    prepare: Callable[[Any], None] | None,
    changes: frozenset[tuple[str, Any]],
) -> tuple[Minibatch, ...]:
    requested = request(framework, algorithm, make, environments, steps, prepare, **dict(changes))
    return tuple(framework.train.collect_minibatches(requested, environments, around))


def read(
    framework: Adapter,
    algorithm: str,
    make: Callable[[int], Any],
    environments: int,
    steps: int,
    around: TrainingVariant = PLAIN,
    prepare: Callable[[Any], None] | None = None,
    **changes: Any,
) -> tuple[Minibatch, ...]:
    """The minibatches of such a training; the same training is done once.

    Args:
        make: number of the environment -> environment.
        steps: in each environment.
        changes: of hyperparameters.
    """
    return _read(
        framework, algorithm, make, environments, steps, around, prepare, frozenset(changes.items())
    )

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
from tests_behavior.action_spaces import adapt_actions
from tests_behavior.counter import number_environments
from tests_behavior.toy_settings import load_setting


def join_rows(minibatches: Sequence[Minibatch]) -> Minibatch:
    """Return minibatches one after the other, as one."""
    names = [field.name for field in fields(Minibatch)]
    rows = {name: [getattr(minibatch, name) for minibatch in minibatches] for name in names}
    return Minibatch(
        **{n: None if parts[0] is None else np.concatenate(parts) for n, parts in rows.items()}
    )


def load_hyperparameters(framework: Adapter, algorithm: str, **changes: Any) -> Mapping[str, Any]:
    """Return the hyperparameters of the topic "minibatches", with further changes."""
    return {**load_setting(framework.name, "minibatches", algorithm).hyperparameters, **changes}


def count_environments(framework: Adapter, algorithm: str, wanted: int) -> int:
    """Return the wanted number of environments, or as many as the framework takes."""
    return load_setting(framework.name, "minibatches", algorithm).limit_environments(wanted)


def is_on_policy(framework: Adapter, algorithm: str) -> bool:
    """Return whether updates are documented to read returns; else they sample a buffer."""
    return "returns" in load_setting(framework.name, "minibatches", algorithm).reads


def make_request(
    framework: Adapter,
    algorithm: str,
    make: Callable[[int], Any],
    environments: int,
    steps: int,
    prepare: Callable[[Any], None] | None = None,
    **changes: Any,
) -> TrainingRequest:
    """Return a training of ``steps`` steps in each environment; these are numbered from 0."""
    return TrainingRequest(
        algorithm=algorithm,
        # a framework may make one more first, only to look at its spaces
        make_env=number_environments(
            lambda number: adapt_actions(algorithm, make(number % environments))
        ),
        hyperparameters=load_hyperparameters(framework, algorithm, **changes),
        total_steps=environments * steps,
        seed=shift_seed(0),
        prepare=prepare,
    )


@cache
def _read_minibatches(
    framework: Adapter,
    algorithm: str,
    make: Callable[[int], Any],
    environments: int,
    steps: int,
    variant: TrainingVariant,
    prepare: Callable[[Any], None] | None,
    changes: frozenset[tuple[str, Any]],
) -> tuple[Minibatch, ...]:
    requested = make_request(
        framework, algorithm, make, environments, steps, prepare, **dict(changes)
    )
    return tuple(framework.train.collect_minibatches(requested, environments, variant))


def read_minibatches(
    framework: Adapter,
    algorithm: str,
    make: Callable[[int], Any],
    environments: int,
    steps: int,
    variant: TrainingVariant = PLAIN,
    prepare: Callable[[Any], None] | None = None,
    **changes: Any,
) -> tuple[Minibatch, ...]:
    """Return the minibatches of a training; equal trainings run once.

    Args:
        make: number of the environment -> environment.
        steps: in each environment.
        changes: of hyperparameters.
    """
    return _read_minibatches(
        framework,
        algorithm,
        make,
        environments,
        steps,
        variant,
        prepare,
        frozenset(changes.items()),
    )

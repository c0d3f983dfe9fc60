"""Minibatches that RSL-RL's storage yields to ``update``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.train.training import make_runner_of_request, train_for_steps
from rlregress.probing.interface import Minibatch, TrainingRequest, TrainingVariant
from rlregress.probing.samples import copy_to_array, copy_to_flat_array


def collect_minibatches(
    request: TrainingRequest, environments: int, variant: TrainingVariant
) -> Sequence[Minibatch]:
    """Train on ``environments`` copies side by side; return the minibatches of all updates."""
    variant.raise_if_unsupported("RSL-RL")
    runner = make_runner_of_request(request, environments)
    read: list[Minibatch] = []
    _note_minibatches(runner.alg, read)
    train_for_steps(runner, request.total_steps)
    return read


def _note_minibatches(algorithm: Any, minibatches: list[Minibatch]) -> None:
    """Record every minibatch that the storage yields, with the policy's outputs in ``update``."""
    storage, acting = algorithm.storage, compat.find_acting_module(algorithm)
    name = compat.name_log_prob_method(algorithm)
    generate, score = storage.mini_batch_generator, getattr(acting, name)
    yielded: list[Minibatch] = []

    def note_and_generate(*arguments: Any, **named: Any) -> Iterator[Any]:
        for handed in generate(*arguments, **named):
            own = compat.read_minibatch(handed)
            # before the update, which may normalise the advantages in their place
            yielded.append(
                Minibatch(
                    observations=copy_to_array(own.observations),
                    actions=copy_to_array(own.actions),
                    log_probs=copy_to_flat_array(own.log_probs),
                    values=copy_to_flat_array(own.values),
                    advantages=copy_to_flat_array(own.advantages),
                    returns=copy_to_flat_array(own.returns),
                )
            )
            yield handed

    def note_and_score(actions: Any) -> Any:
        answer = score(actions)
        if yielded:
            minibatches.append(replace(yielded.pop(), policy_log_probs=copy_to_flat_array(answer)))
        return answer

    storage.mini_batch_generator = note_and_generate
    setattr(acting, name, note_and_score)

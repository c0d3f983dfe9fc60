"""Minibatches that RSL-RL's storage yields to ``update``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.train.training import make_runner_for, train_steps
from rlregress.probing.interface import Minibatch, TrainingRequest, TrainingVariant
from rlregress.probing.samples import as_array, as_flat_array


def minibatches(
    request: TrainingRequest, environments: int, around: TrainingVariant
) -> Sequence[Minibatch]:
    """Train with ``learn`` on ``environments`` copies side by side."""
    around.require_supported("RSL-RL")
    runner = make_runner_for(request, environments)
    read: list[Minibatch] = []
    _note_minibatches(runner.alg, read)
    train_steps(runner, request.total_steps)
    return read


def _note_minibatches(algorithm: Any, read: list[Minibatch]) -> None:
    """Note every minibatch that the storage yields, with the policy's answers to ``update``."""
    storage, acting = algorithm.storage, compat.find_policy(algorithm)
    name = compat.log_prob_name(algorithm)
    generate, score = storage.mini_batch_generator, getattr(acting, name)
    yielded: list[Minibatch] = []

    def noted_generate(*arguments: Any, **named: Any) -> Iterator[Any]:
        for handed in generate(*arguments, **named):
            own = compat.read_batch(handed)
            # before the update, which may normalise the advantages in their place
            yielded.append(
                Minibatch(
                    observations=as_array(own.observations),
                    actions=as_array(own.actions),
                    log_probs=as_flat_array(own.log_probs),
                    values=as_flat_array(own.values),
                    advantages=as_flat_array(own.advantages),
                    returns=as_flat_array(own.returns),
                )
            )
            yield handed

    def noted_score(actions: Any) -> Any:
        answer = score(actions)
        if yielded:
            read.append(replace(yielded.pop(), policy_log_probs=as_flat_array(answer)))
        return answer

    storage.mini_batch_generator = noted_generate
    setattr(acting, name, noted_score)

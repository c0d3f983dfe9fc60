"""Minibatches that RSL-RL's storage yields to ``update``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.train.training import learn, new
from rlregress.probing.interface import Minibatch, TrainingRequest, TrainingVariant
from rlregress.probing.samples import array, flat


def minibatches(
    request: TrainingRequest, environments: int, around: TrainingVariant
) -> Sequence[Minibatch]:
    """Train with ``learn`` on ``environments`` copies side by side."""
    around.only("RSL-RL")
    runner = new(request, environments)
    read: list[Minibatch] = []
    _note(runner.alg, read)
    learn(runner, request.total_steps)
    return read


def _note(algorithm: Any, read: list[Minibatch]) -> None:
    """Every minibatch that the storage yields, with what ``update`` asks the policy about it."""
    storage, acting = algorithm.storage, compat.policy(algorithm)
    name = compat.log_prob_name(algorithm)
    generate, score = storage.mini_batch_generator, getattr(acting, name)
    yielded: list[Minibatch] = []

    def noted_generate(*arguments: Any, **named: Any) -> Iterator[Any]:
        for handed in generate(*arguments, **named):
            own = compat.batch(handed)
            # before the update, which may normalise the advantages in their place
            yielded.append(
                Minibatch(
                    observations=array(own.observations),
                    actions=array(own.actions),
                    log_probs=flat(own.log_probs),
                    values=flat(own.values),
                    advantages=flat(own.advantages),
                    returns=flat(own.returns),
                )
            )
            yield handed

    def noted_score(actions: Any) -> Any:
        answer = score(actions)
        if yielded:
            read.append(replace(yielded.pop(), policy_log_probs=flat(answer)))
        return answer

    storage.mini_batch_generator = noted_generate
    setattr(acting, name, noted_score)

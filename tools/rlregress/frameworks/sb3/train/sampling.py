"""Minibatches that Stable-Baselines3's buffers yield to ``train``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rlregress.frameworks.sb3.train.collection import make_agent_of_request
from rlregress.frameworks.sb3.train.training import OWN, Library
from rlregress.probing.interface import Minibatch, TrainingRequest, TrainingVariant
from rlregress.probing.samples import (
    copy_to_array,
    copy_to_flat_array,
    note_compared_targets,
    note_sampled_minibatches,
)


def collect_minibatches(
    request: TrainingRequest,
    environments: int,
    variant: TrainingVariant,
    library: Library = OWN,
    note_targets: Callable[[list[Minibatch]], Any] = note_compared_targets,
) -> Sequence[Minibatch]:
    """Train with ``learn``, and copy each minibatch where the buffer hands it to ``train``."""
    model = make_agent_of_request(request, environments, variant, library)
    read: list[Minibatch] = []
    if getattr(model, "rollout_buffer", None) is not None:
        _note_minibatches_of_rollouts(model, read)
        model.learn(request.total_steps)
        return read
    note_sampled_minibatches(model.replay_buffer, read)
    with note_targets(read):
        model.learn(request.total_steps)
    return read


def _note_minibatches_of_rollouts(model: Any, minibatches: list[Minibatch]) -> None:
    """Record every minibatch that ``get`` yields, with the policy's outputs in ``train``."""
    get, evaluate_actions = model.rollout_buffer.get, model.policy.evaluate_actions
    yielded: list[Any] = []

    def note_and_get(*arguments: Any, **named: Any) -> Iterator[Any]:
        for data in get(*arguments, **named):
            yielded.append(data)
            yield data

    def note_and_evaluate_actions(*arguments: Any, **named: Any) -> Any:
        answer = evaluate_actions(*arguments, **named)
        data = yielded.pop()
        # where sequences are padded to one length, the update masks what is no row
        rows: Any = (
            copy_to_flat_array(data.mask).astype(bool) if hasattr(data, "mask") else slice(None)
        )
        numbers = {"log_probs": data.old_log_prob, "policy_log_probs": answer[1],
                   "values": data.old_values, "advantages": data.advantages,
                   "returns": data.returns}  # fmt: skip
        minibatches.append(
            Minibatch(
                observations=copy_to_array(data.observations)[rows],
                actions=copy_to_array(data.actions)[rows],
                **{name: copy_to_flat_array(part)[rows] for name, part in numbers.items()},
            )
        )
        return answer

    model.rollout_buffer.get = note_and_get
    model.policy.evaluate_actions = note_and_evaluate_actions

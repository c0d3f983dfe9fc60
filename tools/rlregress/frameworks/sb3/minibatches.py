"""What the updates of Stable-Baselines3 read: what its buffers hand to ``train``."""

from __future__ import annotations

from typing import Any, Iterator, List, Sequence

import numpy as np

from rlregress.frameworks.base import Minibatch, TrainingRequest
from rlregress.frameworks.sb3.collection import agent


def minibatches(request: TrainingRequest, environments: int) -> Sequence[Minibatch]:
    """Learn with ``learn`` on ``environments`` copies in a ``DummyVecEnv``."""
    model = agent(request, environments)
    read: List[Minibatch] = []
    if getattr(model, "rollout_buffer", None) is not None:
        _note_rollouts(model, read)
    else:
        _note_samples(model.replay_buffer, read)
    model.learn(request.total_steps)
    return read


def _array(tensor: Any) -> np.ndarray:
    return tensor.detach().numpy().copy()


def _flat(tensor: Any) -> np.ndarray:
    return _array(tensor).reshape(-1)


def _note_rollouts(model: Any, read: List[Minibatch]) -> None:
    """Every minibatch that ``get`` yields, with what ``train`` asks the policy about it."""
    get, evaluate_actions = model.rollout_buffer.get, model.policy.evaluate_actions
    yielded: List[Any] = []

    def noted_get(*arguments: Any, **more: Any) -> Iterator[Any]:
        for data in get(*arguments, **more):
            yielded.append(data)
            yield data

    def noted_evaluate_actions(*arguments: Any, **more: Any) -> Any:
        answer = evaluate_actions(*arguments, **more)
        data = yielded.pop()
        read.append(
            Minibatch(
                observations=_array(data.observations),
                actions=_array(data.actions),
                log_probs=_flat(data.old_log_prob),
                policy_log_probs=_flat(answer[1]),
                values=_flat(data.old_values),
                advantages=_flat(data.advantages),
                returns=_flat(data.returns),
            )
        )
        return answer

    model.rollout_buffer.get = noted_get
    model.policy.evaluate_actions = noted_evaluate_actions


def _note_samples(buffer: Any, read: List[Minibatch]) -> None:
    """Every minibatch that ``sample`` returns, whose ``dones`` are without truncations."""
    sample = buffer.sample

    def noted_sample(*arguments: Any, **more: Any) -> Any:
        data = sample(*arguments, **more)
        read.append(
            Minibatch(
                observations=_array(data.observations),
                actions=_array(data.actions),
                next_observations=_array(data.next_observations),
                rewards=_flat(data.rewards),
                terminated=_flat(data.dones).astype(bool),
            )
        )
        return data

    buffer.sample = noted_sample

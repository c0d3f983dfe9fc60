"""What updates of RSL-RL's PPO read and compute: rollouts, minibatches and outputs of networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.train.training import make_runner_of_request, train_for_steps
from rlregress.probing.interface import Minibatch, TrainingRequest, TrainingVariant, Transitions
from rlregress.probing.samples import copy_to_flat_array


class UpdateRecorder:
    """Records the updates of an agent from now on.

    Args:
        algorithm: the agent.
        change: called with each full storage before it is used.

    Attributes:
        rollouts: each as it is stored before ``change``.
        minibatches: as the storage yields them, with what the policy makes of them; where an update
            adds rows, these follow in ``policy_log_probs``.
        values: of each minibatch, by the value network, in the same way.
        results: what each update returns.
        is_updating: whether an update is running.
    """

    def __init__(self, algorithm: Any, change: Callable[[Any], Any] = lambda storage: None) -> None:
        self.rollouts: list[Any] = []
        self.minibatches: list[Minibatch] = []
        self.values: list[np.ndarray] = []
        self.results: list[Any] = []
        self.is_updating = False
        self._latest: Minibatch | None = None
        self._storage, self._change = algorithm.storage, change
        compat.wrap_method(algorithm, "update", self._record_update)
        for name in dir(algorithm.storage):
            if name.endswith("mini_batch_generator"):
                compat.wrap_method(algorithm.storage, name, self._note_minibatches)
        policy, score = compat.find_acting_module(algorithm), compat.name_log_prob_method(algorithm)
        compat.wrap_method(policy, score, self._record_minibatch)
        critic = compat.find_layers_of_network(algorithm, "critic")
        critic.register_forward_hook(self._record_values)

    def _record_update(self, update: Callable[[], Any]) -> Any:
        self.rollouts.append(compat.read_rollout(self._storage))
        self._change(self._storage)
        self.is_updating = True
        self.results.append(update())
        self.is_updating = False
        return self.results[-1]

    def _note_minibatches(self, generate: Any, *arguments: Any, **named: Any) -> Iterator[Any]:
        for minibatch in generate(*arguments, **named):
            # before the update, which may normalise the advantages in their place
            self._latest = compat.read_minibatch(minibatch)
            yield minibatch

    def _record_minibatch(self, score: Callable[[Any], Any], actions: Any) -> Any:
        log_probs = score(actions)
        if self.is_updating and self._latest is not None:
            scored = copy_to_flat_array(log_probs)
            self.minibatches.append(replace(self._latest, policy_log_probs=scored))
        return log_probs

    def _record_values(self, _: Any, __: Any, values: Any) -> None:
        if self.is_updating:
            self.values.append(copy_to_flat_array(values))


def _train_and_record(request: TrainingRequest, environments: int) -> UpdateRecorder:
    runner = make_runner_of_request(request, environments)
    recorder = UpdateRecorder(runner.alg)
    train_for_steps(runner, request.total_steps)
    return recorder


def collect_transitions(request: TrainingRequest, environments: int) -> Transitions:
    """Train on ``environments`` copies side by side; return the transitions of all rollouts."""
    rollouts = _train_and_record(request, environments).rollouts
    observations, rewards, dones = (
        np.stack([getattr(rollout, name) for rollout in rollouts])
        for name in ("observations", "rewards", "dones")
    )
    return Transitions(observations, None, rewards[..., 0], dones[..., 0].astype(bool), None)


def collect_minibatches(
    request: TrainingRequest, environments: int, variant: TrainingVariant
) -> Sequence[Minibatch]:
    """Train on ``environments`` copies side by side; return the minibatches of all updates."""
    variant.raise_if_unsupported("RSL-RL")
    return _train_and_record(request, environments).minibatches

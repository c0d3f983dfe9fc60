"""Probes of policies with memory: their own rollouts and updates."""

from __future__ import annotations

from typing import Any, List, Mapping

import numpy as np

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.probes.helpers import trainings
from rlregress.frameworks.scripted import Scripted, end_after

_MEMORY = Networks(hidden=[16], recurrent=True)
#: ratios that differ by less are the same
_NEGLIGIBLE = 1e-4


def _remembering(
    environment: Any, rollouts: int, steps: int, **keywords: Any
) -> trainings.AgentTraining:
    return trainings.train(
        environment,
        rollouts,
        steps=steps,
        networks=_MEMORY,
        learning_rate=trainings.FROZEN,
        **keywords,
    )


def _rollout(inputs: Inputs) -> np.ndarray:
    episode = int(inputs["episode"])
    means: List[np.ndarray] = []

    def look(storage: Any) -> None:
        means.append(compat.old_distribution(storage)[0].numpy().ravel().copy())

    environment = Scripted(terminated=end_after(episode))
    _remembering(environment, 2, int(inputs["rollout"]), change=look)
    first, second = means
    same = [abs(mean - first[0]) < _NEGLIGIBLE for mean in (first[episode], second[0])]
    return np.array(same, dtype=np.float64)


def _update(inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    environment = Scripted(terminated=end_after(episode))
    training = _remembering(environment, 2, steps)
    moved = np.abs(training.log_ratios[-1]) > _NEGLIGIBLE
    end = 2 * episode - steps
    return np.array([moved[:end].any(), moved[end:].any()], dtype=np.float64)


def _minibatches(inputs: Inputs) -> np.ndarray:
    count, minibatches = int(inputs["environments"]), int(inputs["minibatches"])
    environments = [
        Scripted(observations=float(number), next_observations=float(number))
        for number in range(count)
    ]
    training = _remembering(
        Vectorised(*environments),
        1,
        int(inputs["rollout"]),
        num_mini_batches=minibatches,
        num_learning_epochs=2,
    )
    # [steps, sequences] each
    used = [minibatch[0] for minibatch in training.evaluated]
    first, second = (np.concatenate(epoch) for epoch in (used[:minibatches], used[minibatches:]))
    ordered = [np.array_equal(first, np.sort(first)), np.array_equal(first, second)]
    return np.array([len(used[0]), len(first), *ordered], dtype=np.float64)


def _padding(inputs: Inputs) -> np.ndarray:
    episode, steps = int(inputs["episode"]), int(inputs["rollout"])
    ends = [0.0] * steps
    ends[episode - 1] = 1.0
    advantages = np.zeros(steps)

    def change(storage: Any) -> None:
        trainings.feed(storage, advantages=advantages)
        storage.advantages[0, 0] = float(inputs["advantage"])

    training = _remembering(
        Vectorised(Scripted(), Scripted(terminated=ends)),
        1,
        steps,
        change=change,
        value_loss_coef=0.0,
        entropy_coef=0.0,
    )
    return np.array([-float(inputs["advantage"]) / watched_updates.only(training.losses)])


PROBES: Mapping[str, Probe] = {
    "recurrent.rollout": _rollout,
    "recurrent.update": _update,
    "recurrent.minibatches": _minibatches,
    "recurrent.padding": _padding,
}
_NOT_YET = "of its models with memory rollouts and updates alone are probed yet"
ABSENT: Mapping[str, str] = dict.fromkeys(
    ("recurrent.bootstrap", "recurrent.critic", "recurrent.predict"), _NOT_YET
)

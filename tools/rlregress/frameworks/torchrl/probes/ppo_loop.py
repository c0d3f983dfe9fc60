"""Probes of PPO's loop: the trainer and the program on environments that count their steps."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.framework_errors import raised_in
from rlregress.frameworks.recorded_training import growth, parallel_gradient
from rlregress.frameworks.scripted import Scripted, end_after
from rlregress.frameworks.torchrl.probes.helpers import ppo_trainings
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw


def _train(
    scope: str,
    make: ppo_trainings.Make,
    total_steps: int,
    frames: int,
    minibatch: int,
    **more: Any,
) -> ppo_trainings.LossTraining:
    """A training in one environment, by the trainer or by the program."""
    if scope == "trainer":
        return ppo_trainings.trainer([make()], total_steps, frames, minibatch, **more)
    return ppo_trainings.program(make, total_steps, frames, minibatch, **more)


def _one_rollout(scope: str, steps: int, minibatch: int, **more: Any) -> ppo_trainings.LossTraining:
    return _train(scope, ppo_trainings.counting(steps), steps, steps, minibatch, **more)


def _minibatches(scope: str, i: Inputs) -> np.ndarray:
    steps = int(i["rollout_steps"])
    return _one_rollout(scope, steps, int(i["minibatch_size"])).minibatches(steps)


def _minibatches_remainder(scope: str, i: Inputs) -> int:
    steps = int(i["rollout_steps"])
    training = ppo_trainings.LossTraining()
    # the program keeps its losses in a table that has no row for what does not fill a minibatch
    try:
        _train(
            scope,
            ppo_trainings.playing(),
            2 * steps,
            steps,
            int(i["minibatch_size"]),
            recorded=training,
        )
    except IndexError as error:
        if not raised_in(error, "tensordict"):
            raise
    return len(training.rates)


def _minibatches_parameter(scope: str, i: Inputs) -> np.ndarray:
    size = int(i["minibatch_size"])
    return growth([_one_rollout(scope, int(n), size) for n in i["rollout_steps"]])


def _epochs_shuffle(scope: str, i: Inputs) -> np.ndarray:
    steps = int(i["rollout_steps"])
    training = _one_rollout(scope, steps, int(i["minibatch_size"]), epochs=int(i["epochs"]))
    return training.order(steps)


def _with_ratios(scope: str, i: Inputs, ratios: Sequence[float]) -> ppo_trainings.LossTraining:
    """Updates on 4 samples each, with these ratios in turn; there is no threshold to set."""
    training = ppo_trainings.LossTraining()

    def change(batch: Any) -> None:
        ppo_trainings.lower_log_prob(float(ratios[len(training.rollouts) - 1]))(batch)

    epochs, size = int(i["epochs"]), 4 // int(i["minibatches"])
    return _train(
        scope,
        ppo_trainings.playing(),
        4 * len(ratios),
        4,
        size,
        epochs=epochs,
        change=change,
        recorded=training,
    )


def _early_stop_default(scope: str, i: Inputs) -> int:
    return len(_with_ratios(scope, i, [i["ratio"]]).rates)


def _early_stop(scope: str, i: Inputs) -> np.ndarray:
    return _with_ratios(scope, i, i["ratios"]).counts(len(i["ratios"]))


def _advantages_recomputed(scope: str, i: Inputs) -> np.ndarray:
    n = len(i["rewards"])
    make = ppo_trainings.counting(n, rewards=i["rewards"])
    training = _train(scope, make, n, n, 2, epochs=3, learning_rate=0.1)
    return training.recomputed(n)


def _granularity(scope: str, i: Inputs) -> np.ndarray:
    n = len(i["rewards"])
    make = ppo_trainings.counting(n, rewards=i["rewards"], terminated=end_after(n))
    names = {"trainer": ("gamma", "lmbda"), "script": ("gamma", "gae_lambda")}[scope]
    ones = dict.fromkeys(names, 1.0)
    training = _train(scope, make, n, n, 2, learning_rate=0.1, **ones)
    return training.granularity(n, training.divergences)


def _iterations(scope: str, i: Inputs) -> List[int]:
    frames = int(i["rollout_steps"])
    received: List[Any] = []
    make = ppo_trainings.playing(received=received)
    training = _train(scope, make, int(i["total_steps"]), frames, frames)
    return [len(received), len(training.rates)]


def _side_by_side(count: int) -> List[Scripted]:
    return [Scripted(rewards=[1.0, -1.0]) for _ in range(count)]


def _vectorisation(i: Inputs) -> List[int]:
    environments = _side_by_side(int(i["environments"]))
    frames = int(i["rollout_steps"]) * len(environments)
    ppo_trainings.trainer(environments, int(i["total_steps"]), frames, frames)
    steps = [len(environment.received) for environment in environments]
    return [sum(steps), steps[0]]


def _parallel_gradient(i: Inputs) -> np.ndarray:
    environments = _side_by_side(int(i["environments"]))
    frames = 4 * len(environments)
    return parallel_gradient(
        lambda: ppo_trainings.trainer(environments, frames, frames, frames // 2)
    )


def _segments(scope: str, i: Inputs) -> List[float]:
    limit = int(i["time_limit"])
    make = ppo_trainings.counting(limit, truncated=end_after(limit), restarts=True)
    rollouts = _train(scope, make, 15, 5, 5).rollouts
    observed = torch.cat([rollout["observation"].reshape(-1) for rollout in rollouts])
    kept = [x for rollout in rollouts for x in rollout.values(True, True)]
    terminal = any(bool((x == limit).any()) for x in kept if x.dtype == observed.dtype)
    return [*observed.tolist(), terminal]


PROBES: Dict[Tuple[str, str], Raw] = {
    ("ppo.minibatches.remainder", "trainer"): partial(_minibatches_remainder, "trainer"),
    ("ppo.epochs.shuffle", "trainer"): partial(_epochs_shuffle, "trainer"),
    ("ppo.advantages.recomputed", "trainer"): partial(_advantages_recomputed, "trainer"),
    ("ppo.advantage.granularity", "trainer"): partial(_granularity, "trainer"),
    ("ppo.iterations", "trainer"): partial(_iterations, "trainer"),
    ("ppo.segments", "trainer"): partial(_segments, "trainer"),
    # the program stops at the last, smaller minibatch: see ppo.minibatches.remainder
    ("ppo.minibatches", "trainer"): partial(_minibatches, "trainer"),
    ("ppo.minibatches.parameter", "trainer"): partial(_minibatches_parameter, "trainer"),
    ("ppo.early_stop.default", "trainer"): partial(_early_stop_default, "trainer"),
    ("ppo.early_stop", "trainer"): partial(_early_stop, "trainer"),
    ("ppo.vectorisation", "trainer"): _vectorisation,
    ("ppo.parallel_gradient", "trainer"): _parallel_gradient,
    ("ppo.minibatches.remainder", "script"): partial(_minibatches_remainder, "script"),
    ("ppo.epochs.shuffle", "script"): partial(_epochs_shuffle, "script"),
    ("ppo.advantages.recomputed", "script"): partial(_advantages_recomputed, "script"),
    ("ppo.advantage.granularity", "script"): partial(_granularity, "script"),
    ("ppo.iterations", "script"): partial(_iterations, "script"),
    ("ppo.segments", "script"): partial(_segments, "script"),
}

#: detail id -> what TorchRL does not have.
ABSENT: Dict[str, str] = {
    "ppo.adam.epsilon.custom": "has no optimiser of its own whose options could be set: the user, "
    "or the program, makes it",
}

"""Probes of PPO's loop, and of what changes over a training: its own runner and ``update``."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np
import torch

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.recorded_training import diverging, growth, parallel_gradient
from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.probes.helpers import trainings
from rlregress.frameworks.scripted import Scripted, counting, end_after


def _minibatched(
    inputs: Inputs, steps: int, rollouts: int = 1, **algorithm: Any
) -> trainings.AgentTraining:
    minibatches = int(inputs["minibatches"])
    return trainings.train(
        counting(steps), rollouts, steps=steps, num_mini_batches=minibatches, **algorithm
    )


def _minibatches(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["rollout_steps"])
    return _minibatched(inputs, steps).minibatches(steps)


def _remainder(inputs: Inputs) -> np.ndarray:
    return np.array([len(_minibatched(inputs, int(inputs["rollout_steps"]), 2).rates)])


def _parameter(inputs: Inputs) -> np.ndarray:
    return growth([_minibatched(inputs, int(steps)) for steps in inputs["rollout_steps"]])


def _shuffle(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["rollout_steps"])
    return _minibatched(inputs, steps, num_learning_epochs=int(inputs["epochs"])).order(steps)


def _with_ratio(ratio: float, inputs: Inputs) -> trainings.AgentTraining:
    return _minibatched(
        inputs,
        4,
        num_learning_epochs=int(inputs["epochs"]),
        learning_rate=trainings.FROZEN,
        change=lambda storage: trainings.lower(storage, ratio),
    )


def _early_stop_default(inputs: Inputs) -> np.ndarray:
    return np.array([len(_with_ratio(float(inputs["ratio"]), inputs).rates)])


def _early_stop(inputs: Inputs) -> np.ndarray:
    trainings = [_with_ratio(float(ratio), inputs) for ratio in inputs["ratios"]]
    return np.ravel([[len(own.rates), len(own.evaluated)] for own in trainings])


def _recomputed(inputs: Inputs) -> np.ndarray:
    rewards = np.array(inputs["rewards"])
    steps = len(rewards)
    return trainings.train(
        counting(steps, rewards=rewards),
        1,
        steps=steps,
        num_mini_batches=2,
        num_learning_epochs=3,
        learning_rate=0.1,
    ).recomputed(steps)


def _granularity(inputs: Inputs) -> np.ndarray:
    rewards = np.array(inputs["rewards"])
    steps = len(rewards)
    training = trainings.train(
        counting(steps, rewards=rewards, terminated=end_after(steps)),
        1,
        steps=steps,
        num_mini_batches=2,
        learning_rate=0.1,
        gamma=1.0,
        lam=1.0,
        prepare=lambda agent: make_constant(compat.network(agent, "critic"), 0.0),
    )
    return training.granularity(steps, training.log_ratios)


def _parallel_gradient(inputs: Inputs) -> np.ndarray:
    environments = [Scripted() for _ in range(int(inputs["environments"]))]
    return parallel_gradient(
        lambda: trainings.train(Vectorised(*environments), 1, steps=4, num_mini_batches=2)
    )


def _segments(inputs: Inputs) -> np.ndarray:
    limit = int(inputs["time_limit"])
    terminal = []

    def look(storage: Any) -> None:
        arrays = [compat.group(storage.observations), *vars(storage).values()]
        tensors = [array for array in arrays if isinstance(array, torch.Tensor)]
        terminal.append(any(bool((array == limit).any()) for array in tensors))

    environment = counting(limit, truncated=end_after(limit), restarts=True)
    training = trainings.train(environment, 3, steps=5, change=look)
    return np.array([*np.concatenate(training.stored), any(terminal)])


def _scheduled(
    inputs: Inputs, change: Optional[Callable[[Any], None]] = None, **algorithm: Any
) -> trainings.AgentTraining:
    steps, rollouts = int(inputs["rollout_steps"]), int(inputs["rollouts"])
    return _minibatched(inputs, steps, rollouts, change=change, **algorithm)


def _requested_rates(inputs: Inputs) -> np.ndarray:
    start = float(inputs["learning_rate"])
    # the only other schedule follows the divergence
    return np.array(_scheduled(inputs, learning_rate=start).rates) / start


def _clip_range(inputs: Inputs) -> np.ndarray:
    def change(storage: Any) -> None:
        trainings.feed(storage, advantages=1.0)
        trainings.lower(storage, 2.0)

    training = _scheduled(
        inputs,
        change,
        learning_rate=trainings.FROZEN,
        clip_param=float(inputs["clip_range"]),
        value_loss_coef=0.0,
        entropy_coef=0.0,
    )
    return (-np.array(training.losses) - 1.0) / float(inputs["clip_range"])


def _entropy(inputs: Inputs) -> np.ndarray:
    start = float(inputs["coefficient"])
    training = _scheduled(
        inputs,
        lambda storage: trainings.feed(storage, advantages=0.0),
        learning_rate=trainings.FROZEN,
        entropy_coef=start,
        max_grad_norm=trainings.NO_CLIP,
    )
    return -np.array(training.log_std_gradients) / start


def diverge(storage: Any, divergence: float) -> None:
    """Let the divergence of a rollout's policy from the present one, a Gaussian, be this."""
    mean, scale = compat.old_distribution(storage)
    compat.set_old_distribution(storage, mean + scale * float(np.sqrt(2.0 * divergence)), scale)
    trainings.lower(storage, np.resize(diverging(divergence), len(mean)))


def rates(
    divergences: Sequence[float], rate: float, minibatches: int = 1, **algorithm: Any
) -> np.ndarray:
    """Learning rates of updates whose policies diverge so, and that move nothing."""
    left = list(divergences)

    def change(storage: Any) -> None:
        trainings.keep_still(storage)
        diverge(storage, left.pop(0))

    training = trainings.train(
        Scripted(),
        len(left),
        steps=2 * minibatches,
        change=change,
        num_mini_batches=minibatches,
        learning_rate=rate,
        entropy_coef=0.0,
        **algorithm,
    )
    return np.array(training.rates) / rate


def _adaptive(inputs: Inputs) -> np.ndarray:
    return rates(
        inputs["divergences"],
        float(inputs["learning_rate"]),
        schedule="adaptive",
        desired_kl=float(inputs["target"]),
    )


PROBES: Mapping[str, Probe] = {
    "ppo.minibatches": _minibatches,
    "ppo.minibatches.remainder": _remainder,
    "ppo.minibatches.parameter": _parameter,
    "ppo.epochs.shuffle": _shuffle,
    "ppo.early_stop.default": _early_stop_default,
    "ppo.early_stop": _early_stop,
    "ppo.advantages.recomputed": _recomputed,
    "ppo.advantage.granularity": _granularity,
    "ppo.parallel_gradient": _parallel_gradient,
    "ppo.segments": _segments,
    "ppo.learning_rate.schedule.asked": _requested_rates,
    "ppo.learning_rate.adaptive": _adaptive,
    "ppo.clip_range.schedule": _clip_range,
    "ppo.clip_range.schedule.asked": lambda i: np.tile(_clip_range(i), 2),
    "ppo.entropy.schedule": _entropy,
}
_NO_SCHEDULE = "has no linear schedule (adaptive.default: the rate follows the divergence)"
ABSENT: Mapping[str, str] = {
    "ppo.kl_estimator": "compares distributions, and estimates nothing (adaptive.divergence)",
    "ppo.iterations": "has a number of rollouts to set, not of steps",
    "ppo.vectorisation": "has a number of rollouts to set, not of steps",
    "ppo.learning_rate.schedule": _NO_SCHEDULE,
    "ppo.learning_rate.negative": _NO_SCHEDULE,
}

"""Probes of the loop of ``ppo_continuous_action.py``: whole trainings that are watched."""

from __future__ import annotations

import multiprocessing
from typing import Any, Callable, Dict, List, Sequence

import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers.ppo_trainings import (
    RecordedTraining,
    counter,
    lower_log_prob,
    no_values,
    train,
)
from rlregress.frameworks.cleanrl.probes.helpers.rollouts import SCRIPT
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import defaults, replaced
from rlregress.frameworks.scripted import end_after


def minibatches(source: Source, inputs: Inputs) -> np.ndarray:
    """Sizes of the minibatches of an epoch, and how often samples are used."""
    steps = int(inputs["rollout_steps"])
    training = train(source, steps, steps, int(inputs["minibatches"])).evaluated
    sizes = [len(minibatch) for minibatch in training]
    used = np.bincount(np.concatenate(training).astype(int), minlength=steps)
    return np.array([*(sizes + [0] * 4)[:4], min(used.max(), 2), used.min()])


def minibatches_remainder(source: Source, inputs: Inputs) -> np.ndarray:
    """Steps of the optimiser in two rollouts."""
    steps = int(inputs["rollout_steps"])
    return np.array([len(train(source, 2 * steps, steps, int(inputs["minibatches"])).rates)])


def minibatches_parameter(source: Source, inputs: Inputs) -> np.ndarray:
    """What doubles with the rollout."""
    number = int(inputs["minibatches"])
    runs = [train(source, int(n), int(n), number).evaluated for n in inputs["rollout_steps"]]
    return np.array([len(runs[1][0]) / len(runs[0][0]), len(runs[1]) / len(runs[0])])


def epochs_shuffle(source: Source, inputs: Inputs) -> np.ndarray:
    """Whether epochs come in the order of collection, and in the same order."""
    steps, epochs = int(inputs["rollout_steps"]), int(inputs["epochs"])
    training = train(source, steps, steps, int(inputs["minibatches"]), update_epochs=epochs)
    first, second = np.concatenate(training.evaluated).reshape(2, steps)
    return np.array([np.array_equal(first, np.sort(first)), np.array_equal(second, first)])


def _with_ratios(
    source: Source, inputs: Inputs, ratios: Sequence[float], **chosen: Any
) -> RecordedTraining:
    """Updates on 4 samples each, with these ratios in turn."""
    return train(
        source,
        4 * len(ratios),
        4,
        int(inputs["minibatches"]),
        at_end=lambda run, number: lower_log_prob(run, ratios[number]),
        update_epochs=int(inputs["epochs"]),
        learning_rate=0.0,
        **chosen,
    )


def early_stop_default(source: Source, inputs: Inputs) -> np.ndarray:
    """Steps of the optimiser at a large divergence."""
    return np.array([len(_with_ratios(source, inputs, [float(inputs["ratio"])]).rates)])


def early_stop(source: Source, inputs: Inputs) -> np.ndarray:
    """Steps and evaluated minibatches for each ratio, with a threshold."""
    threshold: Dict[str, Any] = {"target_kl": float(inputs["target"])}
    if "kle_stop" in defaults(source.script(SCRIPT)):
        threshold["kle_stop"] = True
    training = _with_ratios(source, inputs, [float(r) for r in inputs["ratios"]], **threshold)
    counts = [
        np.bincount(numbers, minlength=len(inputs["ratios"]))
        for numbers in (training.rollout_of_step, training.rollout_of_evaluated)
    ]
    return np.stack(counts, axis=1).ravel()


def _by_sample(training: RecordedTraining, epochs: int, steps: int) -> np.ndarray:
    """Advantages in the order of collection, [epochs, steps]."""
    order = np.argsort(np.concatenate(training.evaluated).reshape(epochs, steps), axis=1)
    advantages = np.concatenate(training.advantages).reshape(epochs, steps)
    return np.take_along_axis(advantages, order, axis=1)


def advantages_recomputed(source: Source, inputs: Inputs) -> np.ndarray:
    """Whether the advantages of later epochs are others."""
    n = len(inputs["rewards"])
    training = train(
        source,
        n,
        n,
        n // 2,
        make_env=lambda: counter(rewards=inputs["rewards"]),
        update_epochs=3,
        learning_rate=0.1,
        norm_adv=False,
    )
    advantages = _by_sample(training, 3, n)
    return np.array([np.abs(a - advantages[0]).max() > 1e-4 for a in advantages[1:]])


def granularity(source: Source, inputs: Inputs) -> np.ndarray:
    """Advantages without scale and offset, and whether ratios have left 1."""
    n = len(inputs["rewards"])
    training = train(
        source,
        n,
        n,
        n // 2,
        make_env=lambda: counter(n, rewards=inputs["rewards"], terminated=end_after(n)),
        at_end=lambda run, number: no_values(run),
        learning_rate=0.1,
        gamma=1.0,
        gae_lambda=1.0,
        norm_adv=False,
    )
    (a,) = _by_sample(training, 1, n)
    moved = [np.abs(log_ratio).max() > 1e-4 for log_ratio in training.log_ratios]
    return np.array([*(a - a[-1]) / (a[0] - a[-1]), *moved])


def iterations(source: Source, inputs: Inputs) -> np.ndarray:
    """Steps of the environment, and updates."""
    training = train(source, int(inputs["total_steps"]), int(inputs["rollout_steps"]), 1)
    return np.array([len(training.environments[0].received), len(training.rates)])


def vectorisation(source: Source, inputs: Inputs) -> np.ndarray:
    """Steps of all environments, and of the first."""
    count = int(inputs["environments"])
    steps = int(inputs["rollout_steps"])
    training = train(source, int(inputs["total_steps"]), steps, 1, num_envs=count)
    done = [len(environment.received) for environment in training.environments]
    return np.array([sum(done), done[0]])


def parallel_gradient(source: Source, inputs: Inputs) -> np.ndarray:
    """Processes at a step of the optimiser, and backward passes for each."""
    count = int(inputs["environments"])
    processes: List[int] = []
    backwards: List[int] = []
    backward = torch.Tensor.backward

    def counted(*arguments: Any, **keywords: Any) -> Any:
        backwards.append(1)
        return backward(*arguments, **keywords)

    def look(*_: Any) -> None:
        distributed = torch.distributed
        world = distributed.get_world_size() if distributed.is_initialized() else 1
        processes.append(max(world, 1 + len(multiprocessing.active_children())))

    handle = register_optimizer_step_pre_hook(look)
    try:
        with replaced(torch.Tensor, "backward", counted):
            training = train(source, 4 * count, 4, 2, num_envs=count)
    finally:
        handle.remove()
    return np.array([max(processes), len(backwards) / len(training.rates)])


def segments(source: Source, inputs: Inputs) -> np.ndarray:
    """Stored observations of three rollouts, and whether the terminal one is among them."""
    limit = int(inputs["time_limit"])
    names = ("obs", "actions", "logprobs", "rewards", "dones", "values")
    terminal: List[bool] = []

    def look(run: Any, number: int) -> None:
        del number
        terminal.append(any(bool((run[name] == limit).any()) for name in names))

    training = train(
        source, 15, 5, 1, make_env=lambda: counter(limit, truncated=end_after(limit)), at_end=look
    )
    return np.array([*np.concatenate(training.stored), any(terminal)])


PROBES: Dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "ppo.minibatches": minibatches,
    "ppo.minibatches.remainder": minibatches_remainder,
    "ppo.minibatches.parameter": minibatches_parameter,
    "ppo.epochs.shuffle": epochs_shuffle,
    "ppo.early_stop.default": early_stop_default,
    "ppo.early_stop": early_stop,
    "ppo.advantages.recomputed": advantages_recomputed,
    "ppo.advantage.granularity": granularity,
    "ppo.iterations": iterations,
    "ppo.vectorisation": vectorisation,
    "ppo.parallel_gradient": parallel_gradient,
    "ppo.segments": segments,
}

#: detail id -> what CleanRL does not have.
ABSENT: Dict[str, str] = {
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set: they stand in the script",
}

"""Probes of the loop of ``ppo_continuous_action.py``: whole trainings that are watched."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence

import numpy as np

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers.ppo_trainings import (
    ScriptTraining,
    counter,
    lower_log_prob,
    no_values,
    train,
)
from rlregress.frameworks.cleanrl.probes.helpers.rollouts import SCRIPT
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import defaults
from rlregress.frameworks.recorded_training import growth, parallel_gradient
from rlregress.frameworks.scripted import end_after


def minibatches(source: Source, inputs: Inputs) -> np.ndarray:
    """Sizes of the minibatches of an epoch, and how often samples are used."""
    steps = int(inputs["rollout_steps"])
    return train(source, steps, steps, int(inputs["minibatches"])).minibatches(steps)


def minibatches_remainder(source: Source, inputs: Inputs) -> np.ndarray:
    """Steps of the optimiser in two rollouts."""
    steps = int(inputs["rollout_steps"])
    return np.array([len(train(source, 2 * steps, steps, int(inputs["minibatches"])).rates)])


def minibatches_parameter(source: Source, inputs: Inputs) -> np.ndarray:
    """What doubles with the rollout."""
    number = int(inputs["minibatches"])
    return growth([train(source, int(n), int(n), number) for n in inputs["rollout_steps"]])


def epochs_shuffle(source: Source, inputs: Inputs) -> np.ndarray:
    """Whether epochs come in the order of collection, and in the same order."""
    steps, epochs = int(inputs["rollout_steps"]), int(inputs["epochs"])
    training = train(source, steps, steps, int(inputs["minibatches"]), update_epochs=epochs)
    return training.order(steps)


def _with_ratios(
    source: Source, inputs: Inputs, ratios: Sequence[float], **chosen: Any
) -> ScriptTraining:
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
    return training.counts(len(inputs["ratios"]))


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
    return training.recomputed(n)


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
    return training.granularity(n, training.log_ratios)


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


def _parallel_gradient(source: Source, inputs: Inputs) -> np.ndarray:
    count = int(inputs["environments"])
    return parallel_gradient(lambda: train(source, 4 * count, 4, 2, num_envs=count))


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
    "ppo.parallel_gradient": _parallel_gradient,
    "ppo.segments": segments,
}

#: detail id -> what CleanRL does not have.
ABSENT: Dict[str, str] = {
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set: they stand in the script",
}

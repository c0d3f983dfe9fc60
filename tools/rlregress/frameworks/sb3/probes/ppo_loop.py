"""Probes of PPO's loop: its own ``learn`` on environments that count their steps."""

from __future__ import annotations

from functools import partial
from typing import Any, List, Mapping

import numpy as np

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.recorded_training import growth, parallel_gradient
from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.probes.helpers import constant_agents, ppo_trainings
from rlregress.frameworks.sb3.probes.helpers.on_policy import OF_PPO, OnPolicy
from rlregress.frameworks.scripted import counting, end_after


def _one_rollout(kind: OnPolicy, steps: int, **arguments: Any) -> ppo_trainings.AgentTraining:
    return ppo_trainings.train(
        kind, counting(steps, kind.environment), steps, n_steps=steps, **arguments
    )


def _minibatches(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    steps = int(inputs["rollout_steps"])
    return _one_rollout(kind, steps, batch_size=int(inputs["minibatch_size"])).minibatches(steps)


def _minibatches_remainder(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    n = int(inputs["rollout_steps"])
    training = ppo_trainings.train(
        kind, kind.environment(), 2 * n, n_steps=n, batch_size=int(inputs["minibatch_size"])
    )
    return np.array([len(training.rates)])


def _minibatches_parameter(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    size = int(inputs["minibatch_size"])
    return growth([_one_rollout(kind, int(n), batch_size=size) for n in inputs["rollout_steps"]])


def _epochs_shuffle(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    steps = int(inputs["rollout_steps"])
    training = _one_rollout(
        kind, steps, batch_size=int(inputs["minibatch_size"]), n_epochs=int(inputs["epochs"])
    )
    return training.order(steps)


def _with_ratio(
    kind: OnPolicy, ratio: float, inputs: Inputs, **arguments: Any
) -> ppo_trainings.AgentTraining:
    """An update on 4 samples whose ratio is ``ratio``, learning rate 0."""

    def lower(buffer: Any) -> None:
        buffer.log_probs -= float(np.log(ratio))

    return _one_rollout(
        kind,
        4,
        batch_size=4 // int(inputs["minibatches"]),
        n_epochs=int(inputs["epochs"]),
        learning_rate=constant_agents.FROZEN,
        change=lower,
        **arguments,
    )


def _early_stop_default(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    return np.array([len(_with_ratio(kind, float(inputs["ratio"]), inputs).rates)])


def _early_stop(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    counts: List[int] = []
    for ratio in inputs["ratios"]:
        training = _with_ratio(kind, float(ratio), inputs, target_kl=float(inputs["target"]))
        counts += [len(training.rates), len(training.evaluated)]
    return np.array(counts)


def _kl_estimator(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    ratios = np.array(inputs["ratios"])

    def lower(buffer: Any) -> None:
        buffer.log_probs -= np.log(ratios)[:, None].astype(np.float32)

    training = _one_rollout(
        kind,
        len(ratios),
        batch_size=len(ratios),
        learning_rate=constant_agents.FROZEN,
        change=lower,
    )
    return np.array([training.agent.logger.name_to_value["train/approx_kl"]])


def _advantages_recomputed(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    rewards = np.array(inputs["rewards"])
    training = ppo_trainings.train(
        kind,
        counting(len(rewards), kind.environment, rewards=rewards),
        len(rewards),
        n_steps=len(rewards),
        batch_size=2,
        n_epochs=3,
        learning_rate=0.1,
    )
    return training.recomputed(len(rewards))


def _granularity(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    rewards = np.array(inputs["rewards"])
    n = len(rewards)
    training = ppo_trainings.train(
        kind,
        counting(n, kind.environment, rewards=rewards, terminated=end_after(n)),
        n,
        n_steps=n,
        batch_size=2,
        learning_rate=0.1,
        gamma=1.0,
        gae_lambda=1.0,
        prepare=lambda agent: kind.be_constant(agent, 0.0),
    )
    return training.granularity(n, training.log_ratios)


def _iterations(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    environment = counting(64, kind.environment)
    n = int(inputs["rollout_steps"])
    training = ppo_trainings.train(
        kind, environment, int(inputs["total_steps"]), n_steps=n, batch_size=n
    )
    return np.array([len(environment.received), len(training.rates)])


def _vectorisation(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    environments = [kind.environment() for _ in range(int(inputs["environments"]))]
    n = int(inputs["rollout_steps"])
    ppo_trainings.train(
        kind, gyms.side_by_side(*environments), int(inputs["total_steps"]), n_steps=n, batch_size=n
    )
    steps = [len(environment.received) for environment in environments]
    return np.array([sum(steps), steps[0]])


def _parallel_gradient(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    environments = [kind.environment() for _ in range(int(inputs["environments"]))]
    return parallel_gradient(
        lambda: ppo_trainings.train(
            kind,
            gyms.side_by_side(*environments),
            4 * len(environments),
            n_steps=4,
            batch_size=2 * len(environments),
        )
    )


def _segments(kind: OnPolicy, inputs: Inputs) -> np.ndarray:
    limit = int(inputs["time_limit"])
    terminal: List[bool] = []

    def look(buffer: Any) -> None:
        arrays = [array for array in vars(buffer).values() if isinstance(array, np.ndarray)]
        terminal.append(any(np.any(array == limit) for array in arrays))

    environment = counting(limit, kind.environment, truncated=end_after(limit), restarts=True)
    training = ppo_trainings.train(kind, environment, 15, n_steps=5, batch_size=5, change=look)
    return np.array([*np.concatenate(training.stored), any(terminal)])


PROBES: Mapping[str, Probe] = {
    "ppo.minibatches": partial(_minibatches, OF_PPO),
    "ppo.minibatches.remainder": partial(_minibatches_remainder, OF_PPO),
    "ppo.minibatches.parameter": partial(_minibatches_parameter, OF_PPO),
    "ppo.epochs.shuffle": partial(_epochs_shuffle, OF_PPO),
    "ppo.early_stop.default": partial(_early_stop_default, OF_PPO),
    "ppo.early_stop": partial(_early_stop, OF_PPO),
    "ppo.kl_estimator": partial(_kl_estimator, OF_PPO),
    "ppo.advantages.recomputed": partial(_advantages_recomputed, OF_PPO),
    "ppo.advantage.granularity": partial(_granularity, OF_PPO),
    "ppo.iterations": partial(_iterations, OF_PPO),
    "ppo.vectorisation": partial(_vectorisation, OF_PPO),
    "ppo.parallel_gradient": partial(_parallel_gradient, OF_PPO),
    "ppo.segments": partial(_segments, OF_PPO),
}

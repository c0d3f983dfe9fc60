"""Probes of PPO: measurements of its own ``learn``, and parts of its loop that are SB3's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from rlregress.frameworks.sb3.observe.helpers import ppo_trainings
from rlregress.frameworks.sb3.observe.helpers.on_policy import (
    AlgorithmProbe,
    ProbedPPO,
    bind_probes_to_ppo,
    make_algorithm_probe,
)
from rlregress.measurements import ppo_loop as loop
from rlregress.measurements import ppo_trainings as measured
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import read_log10_adam_eps
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step


def _run_loop(algorithm: ProbedPPO, settings: loop.Settings) -> loop.RecordedTraining:
    return measured.run_loop(partial(ppo_trainings.train, algorithm), settings)


def _measure_entropy_coefficients(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    train = partial(_run_loop, algorithm)
    try:
        return loop.measure_entropy_coefficients(train, inputs)
    except TypeError:
        # a function is refused when the update multiplies with it
        return loop.measure_entropy_coefficients(lambda s: train(replace(s, falling=None)), inputs)


def _measure_lambda_zero(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    train = partial(ppo_trainings.train, algorithm)
    try:
        return measured.measure_advantages_at_lambda_zero(train, inputs)
    except (IndexError, ValueError, ZeroDivisionError) as error:
        if not was_raised_in(error, "stable_baselines3"):
            raise
        return np.array([1.0] + [0.0] * len(inputs["rewards"]))


def _measure_adam_epsilon(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    policy = algorithm.make_agent(algorithm.make_environment(), n_steps=8, batch_size=8).policy
    return np.array([read_log10_adam_eps(policy.optimizer, policy.parameters())])


def _measure_adam_epsilon_with_optimizer_kwargs(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    agent = algorithm.make_agent(
        algorithm.make_environment(),
        n_steps=8,
        batch_size=8,
        policy_kwargs={"optimizer_kwargs": {"weight_decay": 0.0}},
    )
    return np.log10([agent.policy.optimizer.param_groups[0]["eps"]])


def _measure_kl_estimate(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    settings = measured.Settings(steps=len(inputs["ratios"]), ratios=[inputs["ratios"]])
    training = ppo_trainings.train(algorithm, settings)
    return np.array([training.agent.logger.name_to_value["train/approx_kl"]])


#: detail -> probe of PPO, or of a class like it
PROBES_OF_ALGORITHM: Mapping[str, AlgorithmProbe] = {
    **{
        id: make_algorithm_probe(measure, ppo_trainings.train)
        for id, measure in measured.MEASUREMENTS.items()
    },
    "ppo.advantage_normalisation.epsilon": make_algorithm_probe(
        partial(measured.measure_loss_of_similar_advantages, normalize_advantage=True),
        ppo_trainings.train,
    ),
    # a rollout of one step is refused
    "ppo.advantage_normalisation.single": make_algorithm_probe(
        partial(measured.measure_loss_of_single_sample, steps=3, minibatch_size=2),
        ppo_trainings.train,
    ),
    "ppo.entropy.schedule": _measure_entropy_coefficients,
    "ppo.adam.epsilon": _measure_adam_epsilon,
    "ppo.adam.epsilon.custom": _measure_adam_epsilon_with_optimizer_kwargs,
    "ppo.kl_estimator": _measure_kl_estimate,
    "ppo.parallel_gradient": make_algorithm_probe(
        count_processes_and_backward_passes_per_step, _run_loop
    ),
    "gae.lambda_zero": _measure_lambda_zero,
    "logging.losses": make_algorithm_probe(
        measured.measure_ratios_of_reported_losses, ppo_trainings.train
    ),
}
PROBES: Mapping[str, Probe] = bind_probes_to_ppo(PROBES_OF_ALGORITHM)

"""Probes of PPO: measurements of trainings by skrl's own trainer, its schedule and its models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from skrl.resources.schedulers.torch import KLAdaptiveLR

from rlregress.frameworks.skrl.agents import AgentSetup
from rlregress.frameworks.skrl.observe.drivers import instantiated
from rlregress.frameworks.skrl.observe.helpers.ppo_trainings import train
from rlregress.measurements import ppo_trainings as measured
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe, Unsupported
from rlregress.probing.layers import (
    list_linear_layers,
    make_output_constant,
    measure_ppo_initialisation,
    read_log10_adam_eps,
)
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step
from rlregress.probing.scripted import Scripted


def _measure_adam_epsilon(inputs: Inputs) -> float:
    training = AgentSetup("ppo")
    parameters = [p for model in training.models.values() for p in model.parameters()]
    return read_log10_adam_eps(training.optimizers["policy"], parameters)


def _measure_initialisation(inputs: Inputs) -> list[float]:
    sizes = [int(inputs["hidden"])] * 2
    dimensions = int(inputs["observation_dimensions"]), int(inputs["action_dimensions"])
    training = instantiated.Settings(sizes, "elu", *dimensions)
    parts = training.make_policy(stochastic=True), training.make_value_model(False)
    return measure_ppo_initialisation([own for part in parts for own in list_linear_layers(part)])


def _measure_log_std(inputs: Inputs) -> list[float]:
    policy = instantiated.Settings([16], "elu", 1, 1).make_policy(stochastic=True)
    for layer in list_linear_layers(policy):
        fill_parameters([layer.bias], 0.0)
    logs = []
    for number in (0.0, float(inputs["observation"])):
        instantiated.make_act_function(policy)(torch.full((1, 1), number))
        logs.append(float(policy.distribution(role="policy").stddev.detach().log()))
    return [logs[0], abs(logs[1] - logs[0]) > 1e-6]


def _measure_actions_at_fixed_means(inputs: Inputs) -> list[float]:
    executed = []
    for mean in inputs["means"]:
        training = AgentSetup("ppo", Scripted(inputs["low"], inputs["high"]), rollouts=100)
        make_output_constant(training.models["policy"], mean)
        fill_parameters([training.models["policy"].log_std], float(np.log(inputs["scale"])))
        training.make_trainer(1).eval()
        executed.append(training.environments[0].received[-1].item())
    return executed


def _make_recording_scheduler(divergences: list[float]) -> Any:
    """Return a class of skrl's adaptive schedule that records each divergence it is passed."""
    try:
        KLAdaptiveLR(AgentSetup("ppo").optimizers["policy"])
    except TypeError as error:
        raise Unsupported(f"its schedule does not run on this PyTorch: {error}") from error

    class Recorded(KLAdaptiveLR):
        def step(self, kl: Any = None, **epoch: Any) -> None:
            """Record the divergence, and step skrl's scheduler."""
            # the first step is one of the constructor
            if kl is not None:
                divergences.append(float(kl))
            super().step(kl, **epoch)

    return Recorded


def _measure_kl_estimate(inputs: Inputs) -> list[float]:
    divergences: list[float] = []
    train(
        measured.Settings(
            steps=len(inputs["ratios"]),
            # policy and value network get no gradient
            stored={"advantages": 0.0, "returns": 0.0, "values": 0.0},
            ratios=[inputs["ratios"]],
            learning_rate=1e-12,
        ),
        learning_rate_scheduler=_make_recording_scheduler(divergences),
    )
    return divergences


def _measure_learning_rate_adaptive(inputs: Inputs) -> np.ndarray:
    train_adaptively = partial(
        train,
        learning_rate_scheduler=_make_recording_scheduler([]),
        learning_rate_scheduler_kwargs={"kl_threshold": float(inputs["target"])},
    )
    return measured.MEASUREMENTS["ppo.learning_rate.adaptive"](train_adaptively, inputs)


_WRITTEN_BY_USERS = "has no networks: users write models"
_NO_SCHEDULE = "has schedules of the learning rate alone"
_ONE_ESTIMATOR = "estimates advantages by one function, without such a switch"
ABSENT: Mapping[str, str] = {
    "ppo.networks": _WRITTEN_BY_USERS,
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set",
    "ppo.minibatches.remainder": "has no remainder: minibatches are equal parts (ppo.minibatches)",
    "ppo.clip_range.schedule.asked": _NO_SCHEDULE,
    "ppo.entropy.schedule": _NO_SCHEDULE,
    "policy.centre.deterministic": _WRITTEN_BY_USERS,
    "policy.centre.gaussian": _WRITTEN_BY_USERS,
    "gae.reset_env": _ONE_ESTIMATOR,
    "gae.kernel": _ONE_ESTIMATOR,
}
PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, train)
        for id, measure in measured.MEASUREMENTS.items()
        if id not in ABSENT
    },
    "ppo.adam.epsilon": _measure_adam_epsilon,
    "ppo.initialisation": _measure_initialisation,
    "ppo.log_std": _measure_log_std,
    "ppo.action.distribution": _measure_actions_at_fixed_means,
    "ppo.kl_estimator": _measure_kl_estimate,
    "ppo.parallel_gradient": partial(
        count_processes_and_backward_passes_per_step, partial(measured.run_loop, train)
    ),
    "ppo.learning_rate.adaptive": _measure_learning_rate_adaptive,
    "gae.truncation.asked": partial(
        measured.measure_advantages, partial(train, time_limit_bootstrap=True)
    ),
}

"""Probes of PPO's update: its own ``update`` on a rollout that its trainer collected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch

from rlregress.frameworks.skrl.agents import AgentSetup
from rlregress.frameworks.skrl.observe.drivers import instantiated
from rlregress.frameworks.skrl.observe.helpers.ppo_trainings import (
    make_change_of_tensors,
    train_and_record,
)
from rlregress.measurements import ppo
from rlregress.measurements.loss_minimum import require_one_number
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import (
    list_linear_layers,
    make_output_constant,
    measure_ppo_initialisation,
    read_log10_adam_eps,
)
from rlregress.probing.scripted import Scripted


def _run_update(settings: ppo.Settings) -> ppo.Effects:
    """Run one PPO update with these settings; return its loss and derivatives."""

    def prepare_agent(training: AgentSetup) -> None:
        make_output_constant(training.models["value"], settings.value)
        fill_parameters([training.models["policy"].log_std], settings.log_deviation)

    training = train_and_record(
        settings.count,
        rollouts=settings.count,
        change=make_change_of_tensors(
            settings.advantages, settings.returns, settings.old_values, settings.ratios
        ),
        prepare=prepare_agent,
        learning_rate=0.0,
        **settings.map_to_framework_names(
            clip_range="ratio_clip",
            value_clip="value_clip",
            value_coefficient="value_loss_scale",
            entropy_coefficient="entropy_loss_scale",
        ),
        **({} if settings.gradients_clipped else {"grad_norm_clip": 0.0}),
    )
    return ppo.Effects(
        require_one_number(training.losses),
        require_one_number(training.gradient_norms),
        training.value_gradients[-1],
        training.log_std_gradients[-1],
    )


def _measure_loss_of_estimated_advantages(inputs: Inputs, minibatches: int) -> float:
    """Return the policy loss of a rollout whose estimated advantages are those of the inputs.

    V is 0 and nothing follows a step, so that rewards are advantages.
    """
    rewards = inputs["advantages"]
    training = train_and_record(
        len(rewards),
        Scripted(rewards=rewards, terminated=1.0),
        rollouts=len(rewards),
        change=lambda tensors: tensors["log_prob"].sub_(float(np.log(inputs["ratio"]))),
        prepare=lambda trained: fill_parameters(trained.models["value"].parameters(), 0.0),
        mini_batches=minibatches,
        learning_rate=0.0,
        value_loss_scale=0.0,
        ratio_clip=0.2,
    )
    return float(np.mean(training.losses))


def _measure_loss_with_normalised_advantages(inputs: Inputs) -> float:
    return _measure_loss_of_estimated_advantages(
        inputs, len(inputs["advantages"]) // int(inputs["minibatch_size"])
    )


def _measure_finiteness_and_loss_of_single_sample(inputs: Inputs) -> list[float]:
    single_step = {"advantages": [inputs["advantage"]], "ratio": 1.0}
    loss = _measure_loss_of_estimated_advantages(single_step, 1)
    return [1.0, loss] if np.isfinite(loss) else [0.0, 0.0]


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


def _make_training_with_policy(
    inputs: Inputs, mean: float, log_deviation: float = -20.0
) -> AgentSetup:
    training = AgentSetup("ppo", Scripted(inputs["low"], inputs["high"]), rollouts=100)
    make_output_constant(training.models["policy"], mean)
    fill_parameters([training.models["policy"].log_std], log_deviation)
    return training


def _measure_action_bounding(inputs: Inputs) -> list[float]:
    executed, stored = [], []
    for mean in inputs["samples"]:
        training = _make_training_with_policy(inputs, mean)
        training.run_steps(1)
        executed.append(training.environments[0].received[-1].item())
        stored.append(float(training.read_stored_tensor("actions")[0]))
    return executed + stored


def _measure_actions_at_fixed_means(inputs: Inputs) -> list[float]:
    executed = []
    for mean in inputs["means"]:
        training = _make_training_with_policy(inputs, mean, float(np.log(inputs["scale"])))
        training.make_trainer(1).eval()
        executed.append(training.environments[0].received[-1].item())
    return executed


def _measure_action_beyond_bounds(inputs: Inputs) -> np.ndarray:
    training = _make_training_with_policy(inputs, inputs["mean"])
    training.run_steps(1)
    return training.environments[0].received[-1]


def _measure_share_of_wrong_log_probs(inputs: Inputs) -> float:
    count = int(inputs["count"])
    training = train_and_record(
        count,
        rollouts=count,
        learning_rate=0.0,
        prepare=lambda trained: make_output_constant(trained.models["policy"], inputs["mean"]),
    )
    return float(np.mean(np.abs(np.concatenate(training.log_ratios)) > 0.01))


PROBES: Mapping[str, Probe] = {
    **{id: partial(measure, _run_update) for id, measure in ppo.MEASUREMENTS.items()},
    "ppo.advantage_normalisation": _measure_loss_with_normalised_advantages,
    "ppo.advantage_normalisation.epsilon": lambda i: _measure_loss_of_estimated_advantages(i, 1),
    "ppo.advantage_normalisation.single": _measure_finiteness_and_loss_of_single_sample,
    "ppo.adam.epsilon": _measure_adam_epsilon,
    "ppo.initialisation": _measure_initialisation,
    "ppo.log_std": _measure_log_std,
    "ppo.action.bounding": _measure_action_bounding,
    "ppo.action.distribution": _measure_actions_at_fixed_means,
    "policy.out_of_bounds": _measure_action_beyond_bounds,
    "policy.stored_log_prob": _measure_share_of_wrong_log_probs,
}
_WRITTEN_BY_USERS = "has no networks: users write models"
ABSENT: Mapping[str, str] = {
    "ppo.networks": _WRITTEN_BY_USERS,
    "ppo.adam.epsilon.custom": "has no options of the optimiser to set",
    "policy.centre.deterministic": _WRITTEN_BY_USERS,
    "policy.centre.gaussian": _WRITTEN_BY_USERS,
}

"""Probes of a PPO script's networks and of parts of its loss, for ``ppo_loop``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.helpers.ppo_trainings import (
    act_with_mean,
    find_acting_method,
    overwrite_rows,
    start_ppo,
    update_on_rows,
)
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import describe_ppo_networks_as_numbers, list_linear_layers
from rlregress.probing.scripted import Scripted


def measure_networks(source: Source, inputs: Inputs) -> np.ndarray:
    """Return layer widths of policy and critic, 1 if they share a layer, activation outputs."""
    agent = start_ppo(source)["agent"]
    parts = [agent.actor_mean, agent.critic]
    return describe_ppo_networks_as_numbers(
        parts, 1, parts, torch.as_tensor(np.asarray(inputs["fed"]))
    )


def measure_log_std(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the policy's log standard deviation, then 1 if it depends on the observation."""
    agent = start_ppo(source)["agent"]
    for layer in list_linear_layers(agent):
        torch.nn.init.zeros_(layer.bias)
    sample = find_acting_method(agent)
    logs = []
    for x in (0.0, float(inputs["observation"])):
        with torch.no_grad():
            entropy = float(sample(torch.tensor([[x]]))[2])
        logs.append(entropy - 0.5 * (1.0 + math.log(2.0 * math.pi)))
    return np.array([logs[0], abs(logs[1] - logs[0]) > 1e-6])


def measure_actions_at_fixed_means(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the action that the environment receives for each mean, at negligible deviation."""
    environment = Scripted(inputs["low"], inputs["high"])
    return np.array([act_with_mean(source, environment, mean)[0] for mean in inputs["means"]])


def measure_kl_estimate(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the script's estimate of the KL divergence, which stops its updates if too large."""
    ratios = inputs["ratios"]
    run, *_ = update_on_rows(source, len(ratios), lambda run: overwrite_rows(run, ratios))
    return np.array([run["approx_kl"].item()])


def measure_finiteness_and_loss_of_single_sample(source: Source, inputs: Inputs) -> np.ndarray:
    """Return [1, policy loss] of a minibatch of one sample if the loss is finite, else [0, 0]."""
    with warnings.catch_warnings():
        # PyTorch says that a deviation of one number has no degree of freedom
        warnings.simplefilter("ignore")
        run, *_ = update_on_rows(
            source,
            1,
            lambda run: overwrite_rows(run, advantages=inputs["advantage"]),
            norm_adv=True,
        )
    loss = run["pg_loss"].item()
    return np.array([1.0, loss] if np.isfinite(loss) else [0.0, 0.0])


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "ppo.networks": measure_networks,
    "ppo.log_std": measure_log_std,
    "ppo.action.distribution": measure_actions_at_fixed_means,
    "ppo.advantage_normalisation.single": measure_finiteness_and_loss_of_single_sample,
    "ppo.kl_estimator": measure_kl_estimate,
}

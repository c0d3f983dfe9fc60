"""Probes of ``ppo_continuous_action.py``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.drivers import make_probe
from rlregress.frameworks.cleanrl.observe.helpers.ppo_trainings import (
    act_with_mean,
    find_acting_method,
    overwrite_rows,
    start_ppo,
    update_on_rows,
)
from rlregress.frameworks.cleanrl.running import ScriptRun
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements import ppo
from rlregress.measurements.loss_minimum import require_one_number
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import (
    describe_ppo_networks_as_numbers,
    find_last_linear_layer,
    list_linear_layers,
    make_output_constant,
    measure_ppo_initialisation,
    read_log10_adam_eps,
)
from rlregress.probing.scripted import Scripted

#: a bound on the norm of the gradient that none of them reaches
_NO_CLIP = 1e9


def _run_update(source: Source, settings: ppo.Settings) -> ppo.Effects:
    """Run the script's update with these settings; return its loss and gradients."""
    flags = settings.map_to_framework_names(
        value_clip="clip_coef", value_coefficient="vf_coef", entropy_coefficient="ent_coef"
    )
    if settings.value_clip is not None:
        flags["clip_vloss"] = settings.value_clip > 0.0
    # one range clips the policy and the value
    flags.update(settings.map_to_framework_names(clip_range="clip_coef"))
    if not settings.gradients_clipped:
        flags["max_grad_norm"] = _NO_CLIP

    def prepare_update(run: ScriptRun) -> None:
        agent = run["agent"]
        make_output_constant(agent.critic, settings.value)
        fill_parameters([agent.actor_logstd], settings.log_deviation)
        overwrite_rows(
            run,
            settings.ratios,
            advantages=settings.advantages,
            returns=settings.returns,
            values=settings.old_values,
        )

    run, losses, norms = update_on_rows(
        source, settings.count, prepare_update, norm_adv=False, **flags
    )
    agent = run["agent"]
    parameters: Any = find_last_linear_layer(agent.critic).bias, agent.actor_logstd
    return ppo.Effects(
        require_one_number(losses),
        require_one_number(norms),
        *(parameter.grad.item() for parameter in parameters),
    )


def _list_policy_losses(
    source: Source, inputs: Inputs, minibatch_size: int = 0, in_float64: bool = False, **flags: Any
) -> Sequence[float]:
    """Return the policy loss of each minibatch, with a learning rate of 0."""
    advantages = inputs["advantages"]

    def prepare_update(run: ScriptRun) -> None:
        if in_float64:
            run["agent"].double()
        overwrite_rows(run, float(inputs["ratio"]), advantages=advantages)

    flags = {"vf_coef": 0.0, "ent_coef": 0.0, **flags}
    return update_on_rows(source, len(advantages), prepare_update, minibatch_size, **flags)[1]


def _measure_loss_with_normalised_advantages(source: Source, inputs: Inputs) -> float:
    return float(np.mean(_list_policy_losses(source, inputs, int(inputs["minibatch_size"]))))


def _measure_loss_of_similar_advantages(source: Source, inputs: Inputs) -> np.ndarray:
    return np.array(_list_policy_losses(source, inputs, in_float64=True, norm_adv=True))


def _measure_initialisation(source: Source, inputs: Inputs) -> np.ndarray:
    bound = np.ones(int(inputs["action_dimensions"]))
    dimensions = int(inputs["observation_dimensions"])
    run = start_ppo(source, lambda: Scripted(-bound, bound, observation_dimensions=dimensions))
    agent = run["agent"].double()
    return np.array(
        measure_ppo_initialisation(
            list_linear_layers(agent.actor_mean) + list_linear_layers(agent.critic)
        )
    )


def _measure_action_bounding(source: Source, inputs: Inputs) -> np.ndarray:
    environment = Scripted(inputs["low"], inputs["high"])
    actions = [act_with_mean(source, environment, mean) for mean in inputs["samples"]]
    return np.array(actions).T.ravel()


def _measure_adam_epsilon(source: Source, inputs: Inputs) -> float:
    run = start_ppo(source)
    return read_log10_adam_eps(run["optimizer"], run["agent"].parameters())


def _measure_networks(source: Source, inputs: Inputs) -> np.ndarray:
    agent = start_ppo(source)["agent"]
    parts = [agent.actor_mean, agent.critic]
    return describe_ppo_networks_as_numbers(
        parts, 1, parts, torch.as_tensor(np.asarray(inputs["fed"]))
    )


def _measure_log_std(source: Source, inputs: Inputs) -> list[float]:
    agent = start_ppo(source)["agent"]
    for layer in list_linear_layers(agent):
        torch.nn.init.zeros_(layer.bias)
    sample = find_acting_method(agent)
    logs = []
    for x in (0.0, float(inputs["observation"])):
        with torch.no_grad():
            entropy = float(sample(torch.tensor([[x]]))[2])
        logs.append(entropy - 0.5 * (1.0 + math.log(2.0 * math.pi)))
    return [logs[0], abs(logs[1] - logs[0]) > 1e-6]


def _measure_actions_at_fixed_means(source: Source, inputs: Inputs) -> list[float]:
    environment = Scripted(inputs["low"], inputs["high"])
    return [act_with_mean(source, environment, mean)[0] for mean in inputs["means"]]


def _measure_kl_estimate(source: Source, inputs: Inputs) -> float:
    ratios = inputs["ratios"]
    run, *_ = update_on_rows(source, len(ratios), lambda run: overwrite_rows(run, ratios))
    return run["approx_kl"].item()


def _measure_finiteness_and_loss_of_single_sample(source: Source, inputs: Inputs) -> list[float]:
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
    return [1.0, loss] if np.isfinite(loss) else [0.0, 0.0]


PROBES: dict[str, Callable[[Source, Inputs], Any]] = {
    **{id: make_probe(_run_update, measure) for id, measure in ppo.MEASUREMENTS.items()},
    "ppo.advantage_normalisation": _measure_loss_with_normalised_advantages,
    "ppo.advantage_normalisation.epsilon": _measure_loss_of_similar_advantages,
    "ppo.initialisation": _measure_initialisation,
    "ppo.action.bounding": _measure_action_bounding,
    "ppo.adam.epsilon": _measure_adam_epsilon,
    "ppo.networks": _measure_networks,
    "ppo.log_std": _measure_log_std,
    "ppo.action.distribution": _measure_actions_at_fixed_means,
    "ppo.advantage_normalisation.single": _measure_finiteness_and_loss_of_single_sample,
    "ppo.kl_estimator": _measure_kl_estimate,
}

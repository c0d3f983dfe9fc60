"""Probes of PPO's update: its own ``train`` on its own rollout buffer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rlregress.frameworks.sb3.observe.helpers import ppo_updates
from rlregress.frameworks.sb3.observe.helpers.on_policy import (
    AlgorithmProbe,
    ProbedPPO,
    bind_probes_to_ppo,
    make_algorithm_probe,
)
from rlregress.measurements import ppo
from rlregress.measurements.loss_minimum import require_one_number
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.layers import read_log10_adam_eps


def _run_update(algorithm: ProbedPPO, settings: ppo.Settings) -> ppo.Effects:
    """Run PPO's update with these settings; return its loss and derivatives."""
    options = settings.map_to_framework_names(
        clip_range="clip_range", value_coefficient="vf_coef", entropy_coefficient="ent_coef"
    )
    if settings.value_clip is not None:
        options["clip_range_vf"] = settings.value_clip or None
    if not settings.gradients_clipped:
        options["max_grad_norm"] = ppo_updates.NO_CLIP
    agent = ppo_updates.make_one_rollout_agent(
        algorithm, settings.count, normalize_advantage=False, **options
    )
    policy = agent.policy
    # a policy over discrete actions has no deviation
    deviation = getattr(policy, "log_std", None)
    if deviation is not None:
        fill_parameters([deviation], settings.log_deviation)
    ppo_updates.fill_rollout_buffer(
        algorithm,
        agent,
        advantages=settings.advantages,
        returns=settings.returns,
        old_values=settings.old_values,
        ratios=settings.ratios,
        value=settings.value,
    )
    journal = run_and_record_steps(agent.train, {"policy": policy.optimizer})
    # there is none either where the loss is that of the values alone
    gradient = getattr(deviation, "grad", None)
    return ppo.Effects(
        journal.get_only_loss("policy"),
        journal.gradient_norms["policy"][0],
        policy.value_net.bias.grad.item(),
        0.0 if gradient is None else gradient.item(),
    )


def _measure_loss_with_normalised_advantages(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    agent = ppo_updates.make_one_rollout_agent(
        algorithm,
        len(inputs["advantages"]),
        batch_size=inputs["minibatch_size"],
        clip_range=0.2,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = ppo_updates.list_total_losses(
        algorithm, agent, advantages=inputs["advantages"], ratios=inputs["ratio"]
    )
    return np.array([np.mean(losses)])


def _measure_loss_of_similar_advantages(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    agent = ppo_updates.make_one_rollout_agent(
        algorithm,
        len(inputs["advantages"]),
        clip_range=0.2,
        normalize_advantage=True,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = ppo_updates.list_total_losses(
        algorithm, agent, advantages=inputs["advantages"], ratios=inputs["ratio"]
    )
    return np.array([require_one_number(losses)])


def _measure_adam_epsilon(algorithm: ProbedPPO, inputs: Inputs) -> np.ndarray:
    policy = ppo_updates.make_one_rollout_agent(algorithm, 8).policy
    return np.array([read_log10_adam_eps(policy.optimizer, policy.parameters())])


#: detail -> probe of PPO, or of a class like it
PROBES_OF_ALGORITHM: Mapping[str, AlgorithmProbe] = {
    **{id: make_algorithm_probe(measure, _run_update) for id, measure in ppo.MEASUREMENTS.items()},
    "ppo.advantage_normalisation": _measure_loss_with_normalised_advantages,
    "ppo.advantage_normalisation.epsilon": _measure_loss_of_similar_advantages,
    "ppo.adam.epsilon": _measure_adam_epsilon,
}
PROBES: Mapping[str, Probe] = bind_probes_to_ppo(PROBES_OF_ALGORITHM)

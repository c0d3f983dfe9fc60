"""Probes of PPO's update: its own ``train`` on its own rollout buffer."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs
from rlregress.frameworks.driven import fill
from rlregress.frameworks.recorded_update import recorded_update
from rlregress.frameworks.sb3.probes.helpers import ppo_updates
from rlregress.measurements import ppo


def _update(settings: ppo.Settings) -> ppo.Effects:
    """See ``measurements.ppo.Update``."""
    given = settings.named(
        clip_range="clip_range", value_coefficient="vf_coef", entropy_coefficient="ent_coef"
    )
    if settings.value_clip is not None:
        given["clip_range_vf"] = settings.value_clip or None
    if not settings.gradients_clipped:
        given["max_grad_norm"] = ppo_updates.NO_CLIP
    agent = ppo_updates.make(settings.count, normalize_advantage=False, **given)
    policy = agent.policy
    fill([policy.log_std], settings.log_deviation)
    ppo_updates.fill(
        agent,
        advantages=settings.advantages,
        returns=settings.returns,
        old_values=settings.old_values,
        ratios=settings.ratios,
        value=settings.value,
    )
    with recorded_update({"policy": policy.optimizer}) as recorded:
        agent.train()
    return ppo.Effects(
        watched_updates.only(recorded.losses["policy"]),
        watched_updates.only(recorded.gradient_norms["policy"]),
        policy.value_net.bias.grad.item(),
        policy.log_std.grad.item(),
    )


def _normalisation(inputs: Inputs) -> np.ndarray:
    agent = ppo_updates.make(
        len(inputs["advantages"]),
        batch_size=int(inputs["minibatch_size"]),
        clip_range=0.2,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = ppo_updates.total_losses(
        agent, advantages=inputs["advantages"], ratios=inputs["ratio"]
    )
    return np.array([np.mean(losses)])


def _normalisation_epsilon(inputs: Inputs) -> np.ndarray:
    agent = ppo_updates.make(
        len(inputs["advantages"]),
        clip_range=0.2,
        normalize_advantage=True,
        vf_coef=0.0,
        ent_coef=0.0,
    )
    losses = ppo_updates.total_losses(
        agent, advantages=inputs["advantages"], ratios=inputs["ratio"]
    )
    return np.array([watched_updates.only(losses)])


def _adam_epsilon(inputs: Inputs) -> np.ndarray:
    optimizer = ppo_updates.make(8).policy.optimizer
    if not isinstance(optimizer, torch.optim.Adam):
        raise RuntimeError(f"the optimiser is no Adam but {type(optimizer).__name__}")
    return np.log10([optimizer.param_groups[0]["eps"]])


PROBES = {
    "ppo.policy_loss.clip": partial(ppo.policy_loss, _update),
    "ppo.advantage_normalisation": _normalisation,
    "ppo.advantage_normalisation.epsilon": _normalisation_epsilon,
    "ppo.value_loss.scale": partial(ppo.value_loss_scale, _update),
    "ppo.value_loss.coefficient": partial(ppo.value_loss_coefficient, _update),
    "ppo.value_loss.distance": partial(ppo.value_loss_distance, _update),
    "ppo.value_clip": partial(ppo.value_clip, _update),
    "ppo.value_clip.default": partial(ppo.value_clip_default, _update),
    "ppo.value_clip.range": partial(ppo.value_clip_range, _update),
    "ppo.value_clip.gradient": partial(ppo.value_clip_gradient, _update),
    "ppo.entropy.bonus": partial(ppo.entropy_bonus, _update),
    "ppo.entropy.coefficient": partial(ppo.entropy_coefficient, _update),
    "ppo.gradient_clip": partial(ppo.gradient_clip, _update),
    "ppo.loss.sign": partial(ppo.loss_sign, _update),
    "ppo.adam.epsilon": _adam_epsilon,
}

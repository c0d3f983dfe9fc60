"""Probes of SAC: its own ``train``, ``learn`` and actor."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from stable_baselines3 import SAC
from torch import nn

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.sb3.probes.helpers import constant_agents, critics
from rlregress.frameworks.scripted import Scripted
from rlregress.measurements import critic_loss


def _fix_policy(agent: Any, inputs: Inputs) -> None:
    constant_agents.fix_log_prob(agent.actor, float(inputs["log_prob"]))


def target_entropy_term(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """The target where the policy reports a log-probability."""
    target_q = [inputs["target_q"]] * 2
    temperature = float(inputs["temperature"])
    return np.array(
        [critics.target(algorithm, inputs, target_q, _fix_policy, ent_coef=temperature)]
    )


def target_minimum(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """The target per case of what the two target networks say."""
    return np.array(
        [
            critics.target(algorithm, inputs, target_q, _fix_policy, ent_coef=0.1)
            for target_q in inputs["target_q"]
        ]
    )


def bootstrap(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """The target per case of the flags that end a step."""
    return critics.bootstrap(algorithm, inputs, _fix_policy, ent_coef=float(inputs["temperature"]))


def actor_loss(algorithm: Any, inputs: Inputs, **arguments: Any) -> np.ndarray:
    """The loss of the policy per case of what the two networks say."""
    arguments["ent_coef"] = float(inputs["temperature"])
    return critics.actor_loss(algorithm, inputs, _fix_policy, **arguments)


def temperature_loss(algorithm: Any, inputs: Inputs, **arguments: Any) -> np.ndarray:
    """The loss of the temperature, and its gradient."""
    agent = constant_agents.make_off_policy(
        algorithm,
        Scripted(),
        learning_rate=constant_agents.FROZEN,
        ent_coef=f"auto_{float(inputs['temperature'])}",
        target_entropy=float(inputs["target_entropy"]),
        **arguments,
    )
    _fix_policy(agent, inputs)
    constant_agents.add_transitions(agent, 8)
    update = partial(agent.train, gradient_steps=1, batch_size=8)
    losses = watched_updates.losses_of_update(update, constant_agents.optimizers(agent))
    gradient = agent.log_ent_coef.grad.item()
    return np.array([watched_updates.only(losses["temperature"]), gradient])


def default_target_entropy(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """The default target entropy per number of action dimensions."""
    entropies = []
    for dimensions in inputs["dimensions"]:
        bound = np.ones(int(dimensions))
        entropies.append(
            constant_agents.make_off_policy(algorithm, Scripted(-bound, bound)).target_entropy
        )
    return np.array(entropies, dtype=np.float64)


class _ToDouble(nn.Module):
    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features.double()


def _standard_actor(algorithm: Any, low: Any, high: Any) -> Any:
    """An actor in float64 whose Gaussian has mean 0 and log standard deviation 0."""
    actor = constant_agents.make_off_policy(algorithm, Scripted(low, high)).actor
    # Observations are made float32 before the features are extracted, whatever the actor is.
    actor.features_extractor = nn.Sequential(actor.features_extractor, _ToDouble())
    # as it acts: of one observation there are no statistics
    actor.double().eval()
    make_constant(actor.mu, 0.0)
    make_constant(actor.log_std, 0.0)
    return actor


def _sampled_log_prob(actor: Any, pre_tanh: Any) -> float:
    """Log-probability that comes with the sample whose pre-tanh value is ``pre_tanh`` [d]."""
    draw = torch.as_tensor(np.atleast_1d(pre_tanh), dtype=torch.float64)

    def rsample(distribution: Any, sample_shape: Any = ()) -> torch.Tensor:
        return distribution.loc + distribution.scale * draw

    with torch.no_grad(), mock.patch.object(torch.distributions.Normal, "rsample", rsample):
        _, log_prob = actor.action_log_prob(torch.zeros(1, 1))
    return log_prob.item()


def tanh_correction(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """What the tanh takes from the log-probability of the Gaussian."""
    actor = _standard_actor(algorithm, -1.0, 1.0)
    corrections = []
    for x in inputs["pre_tanh"]:
        gaussian = -0.5 * x**2 - 0.5 * np.log(2.0 * np.pi)
        corrections.append(gaussian - _sampled_log_prob(actor, x))
    return np.array(corrections)


def action_scale(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """What wider bounds add to a log-probability."""
    wide = _standard_actor(algorithm, inputs["low"], inputs["high"])
    unit = _standard_actor(algorithm, -np.ones(2), np.ones(2))
    x = inputs["pre_tanh"]
    return np.array([_sampled_log_prob(wide, x) - _sampled_log_prob(unit, x)])


def log_std(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Logarithm of the standard deviation per output of its layer."""
    actor = _standard_actor(algorithm, -1.0, 1.0)
    log_stds = []
    for output in inputs["head_outputs"]:
        make_constant(actor.log_std, output)
        with torch.no_grad():
            actor.action_log_prob(torch.zeros(1, 1))
        log_stds.append(actor.action_dist.distribution.stddev.log().item())
    return np.array(log_stds)


def replay_action(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """The action received, and the one stored."""
    environment = Scripted(inputs["low"], inputs["high"])
    agent = constant_agents.make_off_policy(
        algorithm, environment, learning_starts=0, gradient_steps=0
    )
    make_constant(agent.actor.mu, inputs["pre_tanh"])
    make_constant(agent.actor.log_std, -20.0)
    return critics.executed_and_stored(agent, environment)


#: entropy may enter the target of a termination: without it the loss is that of the errors.
_WITHOUT_ENTROPY: Any = {"ent_coef": 0.0}

_critic_loss = partial(critics.critic_loss, SAC, **_WITHOUT_ENTROPY)
PROBES = {
    "sac.critic_loss.scale": partial(critic_loss.scale, _critic_loss),
    "sac.critic_loss.reduction": partial(critic_loss.reduction, _critic_loss),
    "sac.critic_loss.distance": partial(critic_loss.distance, _critic_loss),
    "sac.target.entropy": partial(target_entropy_term, SAC),
    "sac.target.minimum": partial(target_minimum, SAC),
    "sac.target.bootstrap": partial(bootstrap, SAC),
    "sac.temperature.loss": partial(temperature_loss, SAC),
    "sac.temperature.target_entropy": partial(default_target_entropy, SAC),
    "sac.log_std.bounds": partial(log_std, SAC),
    "sac.log_prob.tanh_correction": partial(tanh_correction, SAC),
    "sac.log_prob.action_scale": partial(action_scale, SAC),
    "sac.replay.action": partial(replay_action, SAC),
    "sac.actor_loss": partial(actor_loss, SAC),
    "sac.target_update.polyak": partial(critics.polyak, SAC),
}

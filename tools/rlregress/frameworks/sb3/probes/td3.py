"""Probes of TD3: its own ``train`` and ``learn``."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from stable_baselines3 import TD3
from stable_baselines3.common.noise import NormalActionNoise

from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.sb3.probes.helpers import constant_agents, critics
from rlregress.frameworks.sb3.probes.helpers.target_noise import smoothed_actions
from rlregress.frameworks.scripted import Scripted
from rlregress.measurements import critic_loss
from rlregress.measurements.noise_bounds import beyond_bounds


def _leave(agent: Any, inputs: Inputs) -> None:
    """A deterministic policy does not enter a target of constant Q networks."""


def _target_minimum(inputs: Inputs) -> np.ndarray:
    return np.array(
        [
            # what the critics are pinned at has no noise
            critics.target(TD3, inputs, target_q, _leave, target_policy_noise=0.0)
            for target_q in inputs["target_q"]
        ]
    )


def _half_ranges_from_centre(inputs: Inputs) -> np.ndarray:
    low, high = float(inputs["low"]), float(inputs["high"])
    return (smoothed_actions(inputs)[:, 0] - 0.5 * (low + high)) / (0.5 * (high - low))


def _root_mean_square(numbers: np.ndarray) -> float:
    return float(np.sqrt(np.mean(numbers**2)))


def _noise_law(inputs: Inputs) -> np.ndarray:
    d = _half_ranges_from_centre(inputs)
    spread = _root_mean_square(d)
    return np.array([spread, np.quantile(np.abs(d), 0.999) / spread if spread > 0.0 else 0.0])


def _noise_bounds(inputs: Inputs) -> np.ndarray:
    return beyond_bounds(smoothed_actions, inputs)


def _noise_draw(inputs: Inputs) -> np.ndarray:
    d = _half_ranges_from_centre(inputs)
    spread = _root_mean_square(d)
    if spread == 0.0:
        raise RuntimeError("there is no target noise, so no draw to look at")
    return np.array([np.std(d) / spread])


def _executed(inputs: Inputs, pre_tanh: float, **arguments: Any) -> float:
    """The action of one collected step past the warm-up, as the environment receives it."""
    environment = Scripted(inputs["low"], inputs["high"])
    agent = constant_agents.make_off_policy(
        TD3, environment, learning_starts=0, gradient_steps=0, **arguments
    )
    make_constant(agent.actor.mu, pre_tanh)
    return critics.executed_and_stored(agent, environment)[0]


def _bounding(inputs: Inputs) -> np.ndarray:
    return np.array([_executed(inputs, x) for x in inputs["pre_activation"]])


def _exploration(inputs: Inputs) -> np.ndarray:
    return np.array(
        [
            _executed(
                inputs,
                inputs["pre_tanh"],
                action_noise=NormalActionNoise(mean=np.array([noise]), sigma=np.zeros(1)),
            )
            for noise in inputs["noise"]
        ]
    )


def _policy_delay(inputs: Inputs) -> np.ndarray:
    updates = int(inputs["updates"])
    agent = constant_agents.make_off_policy(
        TD3, Scripted(), policy_delay=int(inputs["delay"]), learning_starts=0, batch_size=8
    )
    networks = (agent.actor, agent.critic_target)
    snapshots: list[list[torch.Tensor]] = []

    def take() -> None:
        snapshots.append(
            [torch.cat([p.detach().flatten() for p in n.parameters()]) for n in networks]
        )

    # Update k is what happens from its critic step to the next one: the delayed part comes last.
    with watched_updates.before_steps(agent.critic.optimizer, take):
        agent.learn(updates)
    take()
    if len(snapshots) != updates + 1:
        raise RuntimeError(f"expected {updates} critic updates, saw {len(snapshots) - 1}")
    moved = [
        [not torch.equal(before, after) for before, after in zip(*pair, strict=False)]
        for pair in zip(snapshots, snapshots[1:], strict=False)
    ]
    return np.array(moved, dtype=np.float64).T.flatten()


_critic_loss = partial(critics.critic_loss, TD3)
PROBES = {
    "td3.critic_loss.scale": partial(critic_loss.scale, _critic_loss),
    "td3.critic_loss.reduction": partial(critic_loss.reduction, _critic_loss),
    "td3.critic_loss.distance": partial(critic_loss.distance, _critic_loss),
    "td3.target.minimum": _target_minimum,
    "td3.target.bootstrap": partial(critics.bootstrap, TD3, prepare=_leave),
    "td3.target_noise.law": _noise_law,
    "td3.target_noise.bounds": _noise_bounds,
    "td3.target_noise.draw": _noise_draw,
    "td3.action.bounding": _bounding,
    "td3.exploration.noise": _exploration,
    "td3.actor_loss": partial(critics.actor_loss, TD3, prepare=_leave, policy_delay=1),
    "td3.policy_delay": _policy_delay,
    "td3.target_update.polyak": partial(critics.polyak, TD3, policy_delay=1),
}

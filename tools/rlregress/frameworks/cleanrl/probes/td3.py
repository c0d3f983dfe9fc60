"""Probes of ``td3_continuous_action.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers import critics
from rlregress.frameworks.cleanrl.probes.helpers.learner import Learner
from rlregress.frameworks.cleanrl.probes.helpers.target_noise import smoothed_actions
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import replaced
from rlregress.frameworks.layers import make_constant
from rlregress.measurements import critic_loss
from rlregress.measurements.noise_bounds import beyond_bounds

SCRIPT = "td3_continuous_action"


def noise_law(source: Source, inputs: Inputs) -> np.ndarray:
    """Root mean square of the deviation in half-ranges, and its quantile over that."""
    action = smoothed_actions(source, inputs, each_its_own=True)[:, 0]
    centre = 0.5 * (inputs["low"] + inputs["high"])
    deviation = (action - centre) / (0.5 * (inputs["high"] - inputs["low"]))
    root = float(np.sqrt(np.mean(deviation**2)))
    if root == 0.0:
        return np.zeros(2)
    return np.array([root, float(np.quantile(np.abs(deviation), 0.999)) / root])


def noise_bounds(source: Source, inputs: Inputs) -> np.ndarray:
    """Shares of target actions above their upper and below their lower bounds."""
    return beyond_bounds(partial(smoothed_actions, source, each_its_own=True), inputs)


def noise_draw(source: Source, inputs: Inputs) -> np.ndarray:
    """Spread of the deviations over the batch, relative to their root mean square."""
    action = smoothed_actions(source, inputs, each_its_own=False)[:, 0]
    deviation = action - 0.5 * (inputs["low"] + inputs["high"])
    return np.array([np.std(deviation) / np.sqrt(np.mean(deviation**2))])


@contextmanager
def _drawing(number: float) -> Iterator[None]:
    """A draw from N(mean, sigma^2) is mean + sigma * number, in torch and in NumPy."""

    def of_torch(mean: Any, std: Any, *_: Any, **__: Any) -> torch.Tensor:
        return torch.as_tensor(mean + std * number)

    def of_numpy(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> np.ndarray:
        return np.full(() if size is None else size, loc + scale * number)

    with replaced(torch, "normal", of_torch), replaced(np.random, "normal", of_numpy):
        yield


def _received(source: Source, inputs: Inputs, pre_tanh: float, noise: float) -> float:
    """The action that the environment gets past the warm-up, sigma 1 in the script's units."""
    agent = Learner(source, SCRIPT, low=inputs["low"], high=inputs["high"], exploration_noise=1.0)
    make_constant(agent.actor, pre_tanh)
    with _drawing(noise):
        return float(agent.collect(1).received[-1].item())


def action_bounding(source: Source, inputs: Inputs) -> np.ndarray:
    """The action without noise, per output of the last layer."""
    return np.array([_received(source, inputs, x, 0.0) for x in inputs["pre_activation"]])


def exploration_noise(source: Source, inputs: Inputs) -> np.ndarray:
    """The action with each noise."""
    pre_tanh = float(inputs["pre_tanh"])
    return np.array([_received(source, inputs, pre_tanh, float(n)) for n in inputs["noise"]])


def policy_delay(source: Source, inputs: Inputs) -> np.ndarray:
    """Whether each of the first updates of the loop moved the policy, and the target critics."""
    agent = Learner(source, SCRIPT, policy_frequency=int(inputs["delay"]), batch_size=8)
    critics.fill(agent, {"batch_size": 8})
    recorded = {
        "policy": [agent.actor],
        "targets": [agent.part("qf1_target"), agent.part("qf2_target")],
    }
    moved: dict[str, list[float]] = {name: [] for name in recorded}
    for number in range(int(inputs["updates"])):
        before = {name: _parameters(networks) for name, networks in recorded.items()}
        agent.update(agent.first_update + number)
        for name, networks in recorded.items():
            moved[name].append(float(not torch.equal(before[name], _parameters(networks))))
    return np.array(moved["policy"] + moved["targets"])


def _parameters(networks: Any) -> torch.Tensor:
    return torch.cat([p.detach().flatten().clone() for net in networks for p in net.parameters()])


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "td3.critic_loss.scale": critics.of_loss(critic_loss.scale, SCRIPT),
    "td3.critic_loss.reduction": critics.of_loss(critic_loss.reduction, SCRIPT),
    "td3.critic_loss.distance": critics.of_loss(critic_loss.distance, SCRIPT),
    "td3.target.minimum": partial(critics.target_minimum, SCRIPT, critics.nothing),
    "td3.target.bootstrap": partial(critics.bootstrap, SCRIPT, critics.nothing),
    "td3.actor_loss": partial(critics.actor_loss, SCRIPT, critics.nothing),
    "td3.target_update.polyak": partial(critics.polyak, SCRIPT),
    "td3.target_noise.law": noise_law,
    "td3.target_noise.bounds": noise_bounds,
    "td3.target_noise.draw": noise_draw,
    "td3.action.bounding": action_bounding,
    "td3.exploration.noise": exploration_noise,
    "td3.policy_delay": policy_delay,
}

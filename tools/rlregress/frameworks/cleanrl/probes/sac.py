"""Probes of ``sac_continuous_action.py``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers import critics
from rlregress.frameworks.cleanrl.probes.helpers.learner import Learner
from rlregress.frameworks.cleanrl.probes.helpers.playing import sampled
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import CPU, precise
from rlregress.frameworks.layers import make_constant
from rlregress.measurements import critic_loss

SCRIPT = "sac_continuous_action"


def _fixed(agent: Learner, inputs: Inputs) -> None:
    agent.fix_log_prob(float(inputs["log_prob"]))


def target_entropy(source: Source, inputs: Inputs) -> np.ndarray:
    """The regression target of steps inside an episode."""
    return np.array([critics.target(source, SCRIPT, inputs, [inputs["target_q"]] * 2, _fixed)])


def temperature_loss(source: Source, inputs: Inputs) -> np.ndarray:
    """Value, and derivative with respect to log alpha."""
    agent = Learner(source, SCRIPT, batch_size=8)
    critics.fill(agent, {"batch_size": 8})
    _fixed(agent, inputs)
    log_alpha = agent.part("log_alpha")
    with torch.no_grad():
        log_alpha.fill_(float(np.log(inputs["temperature"])))
    sliced = agent.value(
        "temperature loss", "alpha_loss", target_entropy=float(inputs["target_entropy"])
    )
    gradient = torch.autograd.grad(sliced["alpha_loss"], log_alpha)[0]
    return np.array([sliced.number("alpha_loss"), float(gradient)])


def default_target_entropy(source: Source, inputs: Inputs) -> np.ndarray:
    """The number that the script computes from the action space."""
    entropies = []
    for dimension in inputs["dimensions"]:
        bound = np.ones(int(dimension))
        agent = Learner(source, SCRIPT, low=-bound, high=bound)
        entropies.append(float(agent.part("target_entropy")))
    return np.array(entropies)


def _head_of_scale(actor: Any) -> torch.nn.Linear:
    """The layer that feeds the standard deviation: the scripts name it so."""
    return next(layer for name, layer in actor.named_modules() if "std" in name)


def _act(actor: Any, observations: torch.Tensor) -> Any:
    """(action, log-probability, mean) of a policy, whether or not it asks for the device."""
    takes_device = actor.get_action.__code__.co_argcount > 2
    return actor.get_action(observations, CPU) if takes_device else actor.get_action(observations)


def log_std_bounds(source: Source, inputs: Inputs) -> np.ndarray:
    """Logarithm of the standard deviation that is sampled from, per output of the head."""
    actor = Learner(source, SCRIPT).actor
    with sampled() as deviations:
        for head in inputs["head_outputs"]:
            make_constant(_head_of_scale(actor), head)
            _act(actor, torch.zeros(1, 1))
    return np.array([float(torch.log(deviation)) for deviation in deviations])


def _log_prob(source: Source, low: Any, high: Any, pre_tanh: Any) -> float:
    """Of a sample from N(0, 1) with this pre-tanh value, in float64."""
    with precise():
        agent = Learner(source, SCRIPT, low=low, high=high)
        # the policy's forward gives mean and log standard deviation, before anything is sampled
        zeros = torch.zeros(1, len(np.atleast_1d(pre_tanh)))
        agent.actor.forward = lambda *_: (zeros, zeros)
        with sampled(pre_tanh):
            return float(_act(agent.actor, torch.zeros(1, 1))[1].detach())


def tanh_correction(source: Source, inputs: Inputs) -> np.ndarray:
    """log N(x; 0, 1) minus the log-probability, per x."""
    corrections = []
    for x in inputs["pre_tanh"]:
        gaussian = -0.5 * x**2 - 0.5 * np.log(2.0 * np.pi)
        corrections.append(gaussian - _log_prob(source, -1.0, 1.0, x))
    return np.array(corrections)


def action_scale(source: Source, inputs: Inputs) -> np.ndarray:
    """Log-probability with the bounds of the inputs minus that with [-1, 1]."""
    ones = np.ones(len(inputs["pre_tanh"]))
    scaled = _log_prob(source, inputs["low"], inputs["high"], inputs["pre_tanh"])
    return np.array([scaled - _log_prob(source, -ones, ones, inputs["pre_tanh"])])


def replay_action(source: Source, inputs: Inputs) -> np.ndarray:
    """Action that the environment received, action in the replay buffer."""
    agent = Learner(source, SCRIPT, low=inputs["low"], high=inputs["high"])
    mean = next(
        layer
        for name, layer in agent.actor.named_modules()
        if "mean" in name and isinstance(layer, torch.nn.Linear)
    )
    make_constant(mean, inputs["pre_tanh"])
    with sampled():
        playing = agent.collect(1)
    return np.array([playing.received[-1].item(), stored(agent.part("rb"))["action"].item()])


def stored(buffer: Any) -> dict[str, np.ndarray]:
    """The first row of a replay buffer."""
    if hasattr(buffer, "actions"):
        return {"action": buffer.actions[0], "done": buffer.dones[0]}
    _, action, _, _, done = buffer.buffer[0]
    return {"action": np.asarray(action), "done": np.asarray(done)}


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "sac.critic_loss.scale": critics.of_loss(critic_loss.scale, SCRIPT),
    "sac.critic_loss.reduction": critics.of_loss(critic_loss.reduction, SCRIPT),
    "sac.critic_loss.distance": critics.of_loss(critic_loss.distance, SCRIPT),
    "sac.target.minimum": partial(critics.target_minimum, SCRIPT, _fixed),
    "sac.target.bootstrap": partial(critics.bootstrap, SCRIPT, _fixed),
    "sac.actor_loss": partial(critics.actor_loss, SCRIPT, _fixed),
    "sac.target_update.polyak": partial(critics.polyak, SCRIPT),
    "sac.target.entropy": target_entropy,
    "sac.temperature.loss": temperature_loss,
    "sac.temperature.target_entropy": default_target_entropy,
    "sac.log_std.bounds": log_std_bounds,
    "sac.log_prob.tanh_correction": tanh_correction,
    "sac.log_prob.action_scale": action_scale,
    "sac.replay.action": replay_action,
}

"""Probes of TD3: its own ``update`` and its loop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from skrl.resources.noises.torch import GaussianNoise

from rlregress.frameworks.base import Inputs, Probe
from rlregress.frameworks.framework_errors import raised_in
from rlregress.frameworks.isolation import shifted
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.skrl.agents import Layers, Training, watch
from rlregress.frameworks.skrl.drivers.ddpg import constant_noise
from rlregress.frameworks.skrl.probes.helpers import critics
from rlregress.measurements import critic_loss
from rlregress.measurements.noise_bounds import beyond_bounds
from rlregress.measurements.spread import log2_spread, spread_between_environments


def _smoothing(deviation: float, **bound: float) -> dict[str, Any]:
    spread = {"mean": 0.0, "std": deviation, "device": "cpu"}
    return {
        "smooth_regularization_noise": GaussianNoise,
        "smooth_regularization_noise_kwargs": spread,
        **({"smooth_regularization_clip": bound["bound"]} if bound else {}),
    }


def _smoothed(inputs: Inputs, **settings: Any) -> np.ndarray:
    """Smoothed target actions, float64 [samples, dimensions]."""
    torch.manual_seed(shifted(int(inputs["seed"])))
    training = critics.fed(
        "td3",
        8,
        environment=Scripted(inputs["low"], inputs["high"]),
        # as many samples as are asked for, of a few rows
        memory={"replacement": True},
        batch_size=int(inputs["samples"]),
        **settings,
    )
    inside = np.clip(inputs["squashed"], -1.0 + 1e-12, 1.0 - 1e-12)
    make_constant(training.models["target_policy"], np.arctanh(inside))
    recorded: list[np.ndarray] = []
    watch(
        training.models["target_critic_1"],
        lambda given, _: recorded.append(given["taken_actions"].double().numpy().copy()),
    )
    training.update()
    (actions,) = recorded
    return actions


def _from_centre(inputs: Inputs, **settings: Any) -> np.ndarray:
    low, high = float(inputs["low"]), float(inputs["high"])
    return (_smoothed(inputs, **settings)[:, 0] - 0.5 * (low + high)) / (0.5 * (high - low))


def _noise_law(inputs: Inputs) -> np.ndarray:
    d = _from_centre(inputs)
    spread = np.sqrt(np.mean(d**2))
    # the tanh of the model leaves rounding errors
    return np.array([spread, np.quantile(np.abs(d), 0.999) / spread if spread > 1e-6 else 0.0])


def _noise_draw(inputs: Inputs) -> np.ndarray:
    d = _from_centre(inputs, **_smoothing(0.2))
    return np.array([np.std(d) / np.sqrt(np.mean(d**2))])


def _noise_parameter(inputs: Inputs) -> np.ndarray:
    wide = _smoothed(inputs, **_smoothing(5.0, bound=0.3))
    return np.array([np.max(np.abs(wide)), np.std(_smoothed(inputs, **_smoothing(0.01)))])


def _executed(
    inputs: Inputs, pre_tanh: float, noise: float | None = None, squash: bool = True
) -> np.ndarray:
    """One action of a training, and the same as it is stored."""
    added = {} if noise is None else constant_noise(noise)
    environment = Scripted(inputs["low"], inputs["high"])
    training = Training(
        "td3", environment, layers=Layers(squash=squash), learning_starts=10, **added
    )
    make_constant(training.models["policy"], pre_tanh)
    return critics.executed_and_stored(training)


def _bounding(inputs: Inputs) -> np.ndarray:
    return np.array([_executed(inputs, x, squash=False)[0] for x in inputs["pre_activation"]])


def _exploration(inputs: Inputs) -> np.ndarray:
    return np.array([_executed(inputs, inputs["pre_tanh"], noise)[0] for noise in inputs["noise"]])


def _policy_delay(inputs: Inputs) -> np.ndarray:
    snapshots: list[list[torch.Tensor]] = []

    def take(training: Training) -> None:
        parts = [training.models[name].parameters() for name in ("policy", "target_critic_1")]
        snapshots.append([torch.cat([p.detach().flatten() for p in part]) for part in parts])

    def prepare(training: Training) -> None:
        training.optimizers["critic"].register_step_pre_hook(lambda *_: take(training))

    delay = int(inputs["delay"])
    _, trained = critics.loop(
        "td3", int(inputs["updates"]), prepare=prepare, policy_delay=delay, batch_size=8
    )
    take(trained)
    moved = [
        [not torch.equal(before, after) for before, after in zip(*pair, strict=False)]
        for pair in zip(snapshots, snapshots[1:], strict=False)
    ]
    return np.array(moved, dtype=np.float64).T.flatten()


def _collected(steps: int, environments: int = 1, **settings: Any) -> np.ndarray:
    """Actions of a training without updates and of a policy at 0, [environments, steps]."""
    journal, _ = critics.loop(
        "td3",
        steps,
        environments,
        prepare=lambda training: make_constant(training.models["policy"], 0.0),
        learning_starts=steps + 1,
        **settings,
    )
    return journal.collected()


def _exploration_environments(inputs: Inputs) -> np.ndarray:
    spread = {"mean": 0.0, "std": 0.1, "device": "cpu"}
    noise = {"exploration_noise": GaussianNoise, "exploration_noise_kwargs": spread}
    environments = int(inputs["environments"])
    return spread_between_environments(_collected(int(inputs["steps"]), environments, **noise))


def _exploration_warmup(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])
    actions = _collected(steps, random_timesteps=steps, **constant_noise(inputs["noise"]))
    return np.array([np.mean(np.abs(actions) >= 1.0)])


def _before_policy_update(inputs: Inputs) -> np.ndarray:
    training = critics.fed("td3", 8, policy_delay=int(inputs["delay"]))
    training.agent.writer = mock.Mock()
    try:
        training.update()
        training.agent.write_tracking_data(timestep=1, timesteps=1)
    except (KeyError, NameError, ValueError) as error:
        if not raised_in(error, "skrl"):
            raise
        return np.array([1.0])
    return np.array([0.0])


_critic_loss = partial(critics.critic_loss, "td3")
PROBES: Mapping[str, Probe] = {
    "td3.critic_loss.scale": partial(critic_loss.scale, _critic_loss),
    "td3.critic_loss.reduction": partial(critic_loss.reduction, _critic_loss),
    "td3.critic_loss.distance": partial(critic_loss.distance, _critic_loss),
    "td3.target.minimum": lambda i: np.array(
        [critics.target("td3", i, case) for case in i["target_q"]]
    ),
    "td3.target.bootstrap": partial(critics.bootstrap, "td3"),
    "td3.target_noise.law": _noise_law,
    "td3.target_noise.bounds": partial(beyond_bounds, partial(_smoothed, **_smoothing(0.2))),
    "td3.target_noise.draw": _noise_draw,
    "td3.target_noise.parameter": _noise_parameter,
    "td3.action.bounding": _bounding,
    "td3.exploration.noise": _exploration,
    "td3.exploration.default": lambda i: np.array([log2_spread(_collected(int(i["samples"])))]),
    "td3.exploration.environments": _exploration_environments,
    "td3.exploration.warmup": _exploration_warmup,
    "td3.replay.action": lambda i: _executed(i, i["pre_tanh"]),
    "td3.actor_loss": partial(critics.actor_loss, "td3", policy_delay=1),
    "td3.policy_delay": _policy_delay,
    "td3.target_update.polyak": partial(critics.polyak, "td3", policy_delay=1),
    "td3.target_update.parameter": partial(critics.polyak, "td3", policy_delay=1),
    "td3.learning_starts": partial(critics.learning_starts, "td3"),
    "td3.update_ratio": partial(critics.update_ratio, "td3", ["critic"]),
    "td3.vectorisation": partial(critics.vectorisation, "td3"),
    "td3.networks": partial(critics.networks, "td3"),
    "td3.gradient_clip": partial(critics.gradient_clip, "td3"),
    "td3.adam.epsilon": partial(critics.adam_epsilon, "td3"),
    "logging.before_policy_update": _before_policy_update,
}

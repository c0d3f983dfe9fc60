"""The details of twin delayed deep deterministic policy gradients, measured on any driven agent.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rlregress.measurements import twin_details
from rlregress.measurements.spread import log2_spread, spread_between_environments
from rlregress.measurements.twin_agents import MakeTwinDriver, Settings
from rlregress.measurements.twin_details import Inputs, Measurement, loop

#: the noise of a target action that is less is the rounding of a tanh
_ROUNDING = 1e-6


def _smoothed(
    make: MakeTwinDriver, i: Inputs, own_draws: bool = True, **options: Any
) -> np.ndarray:
    """Measure smoothed target actions, [samples, dimensions]."""
    agent = make(Settings(low=i["low"], high=i["high"], seed=int(i["seed"]), **options))
    return agent.smoothed_actions(float(i["squashed"]), int(i["samples"]), own_draws)


def _from_centre(i: Inputs, actions: np.ndarray) -> np.ndarray:
    """Measure distances of the first dimension from the centre of the bounds, in half-ranges."""
    low, high = float(i["low"]), float(i["high"])
    return (actions[:, 0] - 0.5 * (low + high)) / (0.5 * (high - low))


def _root_mean_square(numbers: np.ndarray) -> float:
    return float(np.sqrt(np.mean(numbers**2)))


def noise_law(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the root mean square of the noise, and a quantile of it over that."""
    d = _from_centre(i, _smoothed(make, i))
    spread = _root_mean_square(d)
    return np.array([spread, np.quantile(np.abs(d), 0.999) / spread if spread > _ROUNDING else 0.0])


def noise_bounds(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure shares of target actions above their upper, and below their lower bounds."""
    margin = 1e-4 * (i["high"] - i["low"])
    opposite = {**i, "squashed": -i["squashed"]}
    above = _smoothed(make, i, smooths=True) > i["high"] + margin
    below = _smoothed(make, opposite, smooths=True) < i["low"] - margin
    return np.concatenate([above.mean(axis=0), below.mean(axis=0)])


def noise_draw(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the deviation of the noise over the batch, over its root mean square."""
    d = _from_centre(i, _smoothed(make, i, own_draws=False, smooths=True))
    spread = _root_mean_square(d)
    if spread == 0.0:
        raise RuntimeError("there is no target noise, so no draw to look at")
    return np.array([np.std(d) / spread])


def noise_parameter(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the largest noise where its bound is small; its deviation where that is."""
    wide = _smoothed(make, i, smoothing=5.0, smoothing_bound=0.3)
    narrow = _smoothed(make, i, smoothing=0.01, smoothing_bound=0.5)
    return np.array([np.max(np.abs(wide)), np.std(narrow)])


def _collected(make: MakeTwinDriver, i: Inputs, **options: Any) -> np.ndarray:
    """Measure the actions of a collection, [environments, steps]."""
    return make(loop(i, learns=False, **options)).run().collected()


def _last(make: MakeTwinDriver, i: Inputs, pre_tanh: float, noise: float) -> float:
    bounds = {"low": i["low"], "high": i["high"]}
    return float(_collected(make, i, pre_tanh=float(pre_tanh), noise=noise, **bounds)[0, -1])


def action_bounding(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the action without noise, for each output of the last layer."""
    return np.array([_last(make, i, x, 0.0) for x in i["pre_activation"]])


def exploration_noise(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the action with each noise."""
    return np.array([_last(make, i, i["pre_tanh"], float(noise)) for noise in i["noise"]])


def exploration_default(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Spread of the actions around 0, by default."""
    return np.array([log2_spread(_collected(make, i, steps=int(i["samples"]), pre_tanh=0.0))])


def exploration_environments(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure environments, and the spread between them over that of all actions."""
    options = {"environments": int(i["environments"]), "per_environment": True}
    return spread_between_environments(_collected(make, i, pre_tanh=0.0, deviation=0.1, **options))


def exploration_warmup(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Share of the actions of the warm-up that lie on a bound."""
    steps = int(i["steps"])
    actions = _collected(make, i, starts=steps + 1, pre_tanh=0.0, noise=float(i["noise"]))
    return np.array([np.mean(np.abs(actions[:, :steps]) >= 1.0)])


def policy_delay(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Return for each update whether policy and target critics moved."""
    updates = int(i["updates"])
    # some programs wait for a minibatch
    settings = loop(i, delay=int(i["delay"]))
    steps = updates + settings.batch_size + 1
    journal = make(replace(settings, steps=steps, collected_at_once=steps)).run()
    return np.array(journal.moves[:updates], dtype=np.float64).T.flatten()


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Measurement] = {
    "td3.critic_loss.scale": twin_details.critic_loss_scale,
    "td3.critic_loss.reduction": twin_details.critic_loss_reduction,
    "td3.critic_loss.distance": twin_details.critic_loss_distance,
    "td3.target.minimum": twin_details.target,
    "td3.target.bootstrap": twin_details.target_bootstrap,
    "td3.actor_loss": twin_details.actor_loss,
    "td3.target_update.polyak": twin_details.target_update,
    "td3.target_update.parameter": twin_details.target_update,
    "td3.replay.action": twin_details.replay_action,
    "td3.learning_starts": twin_details.learning_starts,
    "td3.update_ratio": partial(twin_details.update_ratio, ("critic",)),
    "td3.vectorisation": twin_details.vectorisation,
    "td3.networks": twin_details.networks,
    "td3.gradient_clip": twin_details.gradient_clip,
    "td3.adam.epsilon": twin_details.adam_epsilon,
    "td3.target_noise.law": noise_law,
    "td3.target_noise.bounds": noise_bounds,
    "td3.target_noise.draw": noise_draw,
    "td3.target_noise.parameter": noise_parameter,
    "td3.action.bounding": action_bounding,
    "td3.exploration.noise": exploration_noise,
    "td3.exploration.default": exploration_default,
    "td3.exploration.environments": exploration_environments,
    "td3.exploration.warmup": exploration_warmup,
    "td3.policy_delay": policy_delay,
}

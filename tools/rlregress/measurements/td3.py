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
from rlregress.measurements.named_settings import Inputs, select_inputs
from rlregress.measurements.spread import compute_independent_noise_share, compute_log2_spread
from rlregress.measurements.twin_agents import MakeTwinDriver, Settings
from rlregress.measurements.twin_details import Measurement, make_loop_settings

#: the noise of a target action that is less is the rounding of a tanh
_ROUNDING = 1e-6


def _measure_smoothed_actions(
    make_driver: MakeTwinDriver, inputs: Inputs, draw_per_sample: bool = True, **options: Any
) -> np.ndarray:
    """Measure smoothed target actions, [samples, dimensions]."""
    agent = make_driver(Settings(**select_inputs(inputs, "low", "high", "seed"), **options))
    return agent.compute_smoothed_actions(inputs["squashed"], inputs["samples"], draw_per_sample)


def _compute_distances_from_centre(inputs: Inputs, actions: np.ndarray) -> np.ndarray:
    """Measure distances of the first dimension from the centre of the bounds, in half-ranges."""
    low, high = inputs["low"], inputs["high"]
    return (actions[:, 0] - 0.5 * (low + high)) / (0.5 * (high - low))


def _compute_root_mean_square(numbers: np.ndarray) -> float:
    return float(np.sqrt(np.mean(numbers**2)))


def measure_smoothing_noise(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the root mean square of target noise, and its 99.9 % quantile over that."""
    d = _compute_distances_from_centre(inputs, _measure_smoothed_actions(make_driver, inputs))
    spread = _compute_root_mean_square(d)
    return np.array([spread, np.quantile(np.abs(d), 0.999) / spread if spread > _ROUNDING else 0.0])


def measure_shares_beyond_bounds(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure shares of target actions above their upper, and below their lower bounds."""
    margin = 1e-4 * (inputs["high"] - inputs["low"])
    opposite = {**inputs, "squashed": -inputs["squashed"]}
    above = _measure_smoothed_actions(make_driver, inputs, smooths=True) > inputs["high"] + margin
    below = _measure_smoothed_actions(make_driver, opposite, smooths=True) < inputs["low"] - margin
    return np.concatenate([above.mean(axis=0), below.mean(axis=0)])


def measure_deviation_of_noise_over_batch(
    make_driver: MakeTwinDriver, inputs: Inputs
) -> np.ndarray:
    """Measure the standard deviation of target noise within a batch, over its root mean square."""
    d = _compute_distances_from_centre(
        inputs, _measure_smoothed_actions(make_driver, inputs, draw_per_sample=False, smooths=True)
    )
    spread = _compute_root_mean_square(d)
    if spread == 0.0:
        raise RuntimeError("the target noise is 0 in all samples; expected some")
    return np.array([np.std(d) / spread])


def measure_noise_with_bound_parameter(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the largest target noise under a small bound, and the deviation of small noise."""
    wide = _measure_smoothed_actions(make_driver, inputs, smoothing=5.0, smoothing_bound=0.3)
    narrow = _measure_smoothed_actions(make_driver, inputs, smoothing=0.01, smoothing_bound=0.5)
    return np.array([np.max(np.abs(wide)), np.std(narrow)])


def _collect_actions(make_driver: MakeTwinDriver, inputs: Inputs, **options: Any) -> np.ndarray:
    """Return the collected actions, [environments, steps]."""
    driver = make_driver(make_loop_settings(inputs, learns=False, **options))
    return driver.run_loop().list_collected_actions()


def _collect_last_action(
    make_driver: MakeTwinDriver, inputs: Inputs, pre_tanh: float, noise: float
) -> float:
    bounds = {"low": inputs["low"], "high": inputs["high"]}
    actions = _collect_actions(make_driver, inputs, pre_tanh=float(pre_tanh), noise=noise, **bounds)
    return float(actions[0, -1])


def measure_action_bounding(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the action without noise, for each output of the last layer."""
    return np.array(
        [_collect_last_action(make_driver, inputs, x, 0.0) for x in inputs["pre_activation"]]
    )


def measure_actions_with_exploration_noise(
    make_driver: MakeTwinDriver, inputs: Inputs
) -> np.ndarray:
    """Measure the last action for each constant number that exploration adds."""
    return np.array(
        [
            _collect_last_action(make_driver, inputs, inputs["pre_tanh"], float(noise))
            for noise in inputs["noise"]
        ]
    )


def measure_default_exploration_noise(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the base-2 logarithm of the size of exploration noise where it is not set."""
    return np.array(
        [
            compute_log2_spread(
                _collect_actions(make_driver, inputs, steps=inputs["samples"], pre_tanh=0.0)
            )
        ]
    )


def measure_exploration_of_several_environments(
    make_driver: MakeTwinDriver, inputs: Inputs
) -> np.ndarray:
    """Measure the number of environments, and the share of noise that differs between them."""
    options = {"environments": inputs["environments"], "per_environment": True}
    return compute_independent_noise_share(
        _collect_actions(make_driver, inputs, pre_tanh=0.0, deviation=0.1, **options)
    )


def measure_warmup_actions_on_bounds(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the share of the warm-up's actions that lie on a bound."""
    steps = inputs["steps"]
    actions = _collect_actions(
        make_driver, inputs, starts=steps + 1, pre_tanh=0.0, noise=inputs["noise"]
    )
    return np.array([np.mean(np.abs(actions[:, :steps]) >= 1.0)])


def measure_policy_delay(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Return for each update whether the policy moved, then whether the target critics moved."""
    updates = inputs["updates"]
    # some programs wait for a minibatch
    settings = make_loop_settings(inputs, delay=inputs["delay"])
    steps = updates + settings.batch_size + 1
    journal = make_driver(replace(settings, steps=steps, collected_at_once=steps)).run_loop()
    return np.array(journal.moves[:updates], dtype=np.float64).T.flatten()


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Measurement] = {
    "td3.critic_loss.scale": twin_details.measure_critic_loss_scale,
    "td3.critic_loss.reduction": twin_details.measure_critic_loss_reduction,
    "td3.critic_loss.distance": twin_details.measure_critic_loss_distance,
    "td3.target.minimum": twin_details.measure_target,
    "td3.target.bootstrap": twin_details.measure_target_bootstrap,
    "td3.actor_loss": twin_details.measure_actor_loss,
    "td3.target_update.polyak": twin_details.measure_target_update,
    "td3.target_update.parameter": twin_details.measure_target_update,
    "td3.replay.action": twin_details.measure_received_and_stored_action,
    "td3.learning_starts": twin_details.measure_random_steps_and_first_update,
    "td3.update_ratio": partial(twin_details.measure_update_ratio, ("critic",)),
    "td3.vectorisation": twin_details.measure_steps_and_updates_of_several_environments,
    "td3.networks": twin_details.measure_network_architecture,
    "td3.gradient_clip": twin_details.measure_inverse_clipped_norms,
    "td3.adam.epsilon": twin_details.measure_adam_epsilon,
    "td3.target_noise.law": measure_smoothing_noise,
    "td3.target_noise.bounds": measure_shares_beyond_bounds,
    "td3.target_noise.draw": measure_deviation_of_noise_over_batch,
    "td3.target_noise.parameter": measure_noise_with_bound_parameter,
    "td3.action.bounding": measure_action_bounding,
    "td3.exploration.noise": measure_actions_with_exploration_noise,
    "td3.exploration.default": measure_default_exploration_noise,
    "td3.exploration.environments": measure_exploration_of_several_environments,
    "td3.exploration.warmup": measure_warmup_actions_on_bounds,
    "td3.policy_delay": measure_policy_delay,
}

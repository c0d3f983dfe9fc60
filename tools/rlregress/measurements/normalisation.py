"""The details of running normalisation, each measured by walks through normalised environments.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Inputs = Mapping[str, Any]
#: arguments of ``rlregress.probing.scripted.Scripted``
Script = Mapping[str, Any]


class Walked(NamedTuple):
    """Observations and rewards that an agent gets from environments side by side.

    Attributes:
        observations: [T + 1, environments], that of the reset first, and those of later resets in
            the place of terminal ones.
        rewards: [T, environments].
        returns: of the episodes that ended, as reported, where a walk notes them.
    """

    observations: np.ndarray
    rewards: np.ndarray
    returns: Sequence[float] = ()


#: walks through one normalised environment of each script, ``count_steps_of_script`` of them
Walk = Callable[[Sequence[Script]], Walked]


def count_steps_of_script(script: Script) -> int:
    """Return the length of the longest list of a script."""
    return max(map(np.size, script.values()))


def make_script_of_observations(observations: Any, **script: Any) -> dict[str, Any]:
    """Return a script: a reset observes observations[0], and step t observes observations[t + 1].

    A reset after an end at step t observes ``resets[t + 1]``, by default observations[t + 1].
    """
    x = np.asarray(observations)
    before = script.pop("resets", x[:-1])
    return {"observations": before, "next_observations": x[1:], **script}


def _walk_and_observe(walk: Walk, observations: Any) -> np.ndarray:
    return walk([make_script_of_observations(observations)]).observations[:, 0]


def measure_normalised_observations(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the normalised observations of all steps, without that of the reset."""
    return _walk_and_observe(walk, inputs["observations"])[1:]


def measure_observation_after_zeros(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the last observation, normalised; ``still`` observations of 0 precede it."""
    return _walk_and_observe(walk, np.append(np.zeros(inputs["still"]), inputs["last"]))[-1:]


def measure_last_observations(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the last two observations of a walk, normalised."""
    return _walk_and_observe(walk, inputs["observations"])[-2:]


def measure_early_and_late_observations(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the normalised observations 0, 1, 2, 50 and 199 of a walk."""
    return _walk_and_observe(walk, inputs["observations"])[[0, 1, 2, 50, 199]]


def _walk_and_collect_rewards(walk: Walk, inputs: Inputs) -> np.ndarray:
    ends = {key: inputs[key] for key in ("terminated", "truncated") if key in inputs}
    return walk([{"rewards": inputs["rewards"], **ends}]).rewards[:, 0]


def measure_normalised_rewards(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the rewards that the normalised environment gave on a walk, without the first."""
    return _walk_and_collect_rewards(walk, inputs)[1:]


def measure_last_rewards(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the last two rewards that the normalised environment gave on a walk."""
    return _walk_and_collect_rewards(walk, inputs)[-2:]


def measure_first_reward(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return the first reward that the normalised environment gave on a walk."""
    return _walk_and_collect_rewards(walk, inputs)[:1]


def _collect_observations_and_rewards_at(
    walk: Walk, inputs: Inputs, steps: Sequence[int]
) -> np.ndarray:
    walked = walk(
        [
            make_script_of_observations(
                np.append(0.0, inputs["observations"]), rewards=inputs["rewards"]
            )
        ]
    )
    return np.concatenate([walked.observations[1:][steps, 0], walked.rewards[steps, 0]])


def measure_default_normalisation(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return observations and rewards of step 3 and the last step, with on-policy defaults."""
    return _collect_observations_and_rewards_at(walk, inputs, [3, -1])


def measure_default_off_policy_normalisation(walk: Walk, inputs: Inputs) -> np.ndarray:
    """Return observations and rewards of the last two steps, with off-policy defaults."""
    return _collect_observations_and_rewards_at(walk, inputs, [-2, -1])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[Walk, Inputs], np.ndarray]] = {
    "normalisation.observation": measure_normalised_observations,
    "normalisation.observation.epsilon": measure_observation_after_zeros,
    "normalisation.observation.clip": measure_last_observations,
    "normalisation.observation.statistics": measure_early_and_late_observations,
    "normalisation.order": measure_normalised_observations,
    "normalisation.reward": measure_normalised_rewards,
    "normalisation.reward.reset": measure_normalised_rewards,
    "normalisation.reward.clip": measure_last_rewards,
    "normalisation.reward.first": measure_first_reward,
    "normalisation.default": measure_default_normalisation,
    "normalisation.default.off_policy": measure_default_off_policy_normalisation,
}

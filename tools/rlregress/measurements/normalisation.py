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


#: walks through one normalised environment of each script, ``count_steps`` of them
Walk = Callable[[Sequence[Script]], Walked]


def count_steps(script: Script) -> int:
    """Return the length of the longest list of a script."""
    return max(map(np.size, script.values()))


def showing(observations: Any, **script: Any) -> dict[str, Any]:
    """Return the script of a reset that gives observations[0] and of steps t that give [t + 1].

    Another reset, after an end at step t, gives ``resets[t + 1]``, by default observations[t + 1].
    """
    x = np.asarray(observations)
    before = script.pop("resets", x[:-1])
    return {"observations": before, "next_observations": x[1:], **script}


def _observe(walk: Walk, observations: Any) -> np.ndarray:
    return walk([showing(observations)]).observations[:, 0]


def observation(walk: Walk, i: Inputs) -> np.ndarray:
    """Return the observations of steps."""
    return _observe(walk, i["observations"])[1:]


def epsilon(walk: Walk, i: Inputs) -> np.ndarray:
    """Return the last observation, after others that are all the same."""
    return _observe(walk, np.append(np.zeros(int(i["still"])), i["last"]))[-1:]


def last_observations(walk: Walk, i: Inputs) -> np.ndarray:
    """Return the last two observations."""
    return _observe(walk, i["observations"])[-2:]


def statistics(walk: Walk, i: Inputs) -> np.ndarray:
    """Return early and late observations."""
    return _observe(walk, i["observations"])[[0, 1, 2, 50, 199]]


def _pay(walk: Walk, i: Inputs) -> np.ndarray:
    ends = {key: i[key] for key in ("terminated", "truncated") if key in i}
    return walk([{"rewards": i["rewards"], **ends}]).rewards[:, 0]


def reward(walk: Walk, i: Inputs) -> np.ndarray:
    """Return the rewards after the first."""
    return _pay(walk, i)[1:]


def last_rewards(walk: Walk, i: Inputs) -> np.ndarray:
    """Return the last two rewards."""
    return _pay(walk, i)[-2:]


def first_reward(walk: Walk, i: Inputs) -> np.ndarray:
    """Return the first reward."""
    return _pay(walk, i)[:1]


def _read_steps(walk: Walk, i: Inputs, steps: Sequence[int]) -> np.ndarray:
    walked = walk([showing(np.append(0.0, i["observations"]), rewards=i["rewards"])])
    return np.concatenate([walked.observations[1:][steps, 0], walked.rewards[steps, 0]])


def default(walk: Walk, i: Inputs) -> np.ndarray:
    """Return observations and rewards of two steps, by default in a training on rollouts."""
    return _read_steps(walk, i, [3, -1])


def default_off_policy(walk: Walk, i: Inputs) -> np.ndarray:
    """Return those of the last two steps, by default in a training on a replay buffer."""
    return _read_steps(walk, i, [-2, -1])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[Walk, Inputs], np.ndarray]] = {
    "normalisation.observation": observation,
    "normalisation.observation.epsilon": epsilon,
    "normalisation.observation.clip": last_observations,
    "normalisation.observation.statistics": statistics,
    "normalisation.order": observation,
    "normalisation.reward": reward,
    "normalisation.reward.reset": reward,
    "normalisation.reward.clip": last_rewards,
    "normalisation.reward.first": first_reward,
    "normalisation.default": default,
    "normalisation.default.off_policy": default_off_policy,
}

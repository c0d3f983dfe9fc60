"""Probes of undocumented behaviour of VecNormalize."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from stable_baselines3 import SAC

from rlregress.frameworks.sb3.observe.drivers import constant_agents
from rlregress.frameworks.sb3.observe.helpers.normalised_environments import (
    normalised,
    showing,
    walk,
)
from rlregress.probing.interface import Inputs, Probe


def _terminal_statistics(i: Inputs) -> np.ndarray:
    x, terminal = i["observations"], int(i["terminal"])
    # the observation after the terminal one is that of the reset before the next step
    steps = np.delete(x, terminal + 1)
    ends = np.arange(1, len(steps)) == terminal
    environment = showing(steps, resets=np.where(np.roll(ends, 1), x[terminal + 1], x[0]),
                          terminated=ends)  # fmt: skip
    return walk(normalised(environment), len(steps) - 1).observations[-3:, 0]


def _collected(i: Inputs, **script: Any) -> Any:
    steps = len(i["observations"]) - 1
    environment = normalised(showing(i["observations"], **script))
    agent = constant_agents.make_off_policy(SAC, environment, learning_starts=1000)
    agent.learn(steps)
    return agent


def _terminal_observation(i: Inputs) -> np.ndarray:
    x = i["observations"]
    steps = len(x) - 1
    ends = np.arange(steps) == steps - 1
    agent = _collected(i, terminated=ends, resets=np.full(steps, x[0]))
    return agent.replay_buffer.next_observations[steps - 1, 0]


def _replay(i: Inputs) -> np.ndarray:
    agent = _collected(i)
    rows = agent.replay_buffer._get_samples(np.array([1, 2]), env=agent.get_vec_normalize_env())
    return rows.observations[:, 0].numpy()


def _alternating(i: Inputs) -> np.ndarray:
    signs = np.where(np.arange(int(i["count"])) % 2, -1.0, 1.0)
    x = i["offset"] + i["spread"] * signs
    return walk(normalised(showing(x)), len(x) - 1).observations[:, 0]


def _large_offset(i: Inputs) -> np.ndarray:
    numbers = _alternating(i)
    late = np.abs(numbers[-50:][np.isfinite(numbers[-50:])])
    broken = not np.all(np.isfinite(numbers))
    return np.array([broken, np.max(late) > 3.0, np.max(late) < 0.5], dtype=np.float64)


def _environments(i: Inputs) -> np.ndarray:
    both = normalised(showing(i["first"]), showing(i["second"]))
    return walk(both, len(i["first"]) - 1).observations[1:].T.reshape(-1)


def _epsilon_with_fixed_statistics(i: Inputs) -> np.ndarray:
    environment = normalised(showing([i["distance"], 0.0]), training=False)
    environment.obs_rms.mean = np.zeros(1)
    environment.obs_rms.var = np.full(1, i["deviation"] ** 2)
    return np.log10(environment.reset()[0])


PROBES: Mapping[str, Probe] = {
    "normalisation.terminal_observation.statistics": _terminal_statistics,
    "normalisation.terminal_observation": _terminal_observation,
    "normalisation.replay": _replay,
    "normalisation.observation.early_scale": lambda i: _alternating(i)[-2:],
    "normalisation.observation.large_offset": _large_offset,
    "normalisation.environments": _environments,
    "normalisation.fixed.epsilon": _epsilon_with_fixed_statistics,
}

ABSENT: Mapping[str, str] = {
    "normalisation.reward_clip.one_sided": (
        "clips rewards within VecNormalize, whose limit is one number for both sides"
    ),
}

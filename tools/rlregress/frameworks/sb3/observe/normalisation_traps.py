"""Probes of undocumented behaviour of VecNormalize."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from stable_baselines3 import SAC

from rlregress.frameworks.sb3.observe.drivers import constant_agents
from rlregress.frameworks.sb3.observe.helpers.normalised_environments import (
    normalise_environments,
    walk_normalised,
)
from rlregress.measurements import normalisation_traps
from rlregress.measurements.normalisation import showing
from rlregress.probing.interface import Inputs, Probe


def _collected(i: Inputs, **script: Any) -> Any:
    steps = len(i["observations"]) - 1
    environment = normalise_environments(showing(i["observations"], **script))
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


def _epsilon_with_fixed_statistics(i: Inputs) -> np.ndarray:
    environment = normalise_environments(showing([i["distance"], 0.0]), training=False)
    environment.obs_rms.mean = np.zeros(1)
    environment.obs_rms.var = np.full(1, i["deviation"] ** 2)
    return np.log10(environment.reset()[0])


PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, walk_normalised)
        for id, measure in normalisation_traps.MEASUREMENTS.items()
    },
    "normalisation.terminal_observation": _terminal_observation,
    "normalisation.replay": _replay,
    "normalisation.fixed.epsilon": _epsilon_with_fixed_statistics,
}

ABSENT: Mapping[str, str] = {
    "normalisation.reward_clip.one_sided": (
        "clips rewards within VecNormalize, whose limit is one number for both sides"
    ),
}

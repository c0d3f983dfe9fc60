"""Probes of undocumented behaviour of VecNormalize."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from stable_baselines3 import SAC

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers.normalised_environments import (
    make_normalised_environments,
    walk_through_normalised,
)
from rlregress.measurements import normalisation_traps
from rlregress.measurements.normalisation import make_script_of_observations
from rlregress.probing.interface import Inputs, Probe


def _make_agent_with_stored_steps(inputs: Inputs, **script: Any) -> Any:
    steps = len(inputs["observations"]) - 1
    environment = make_normalised_environments(
        make_script_of_observations(inputs["observations"], **script)
    )
    agent = probe_agents.make_small_off_policy_agent(SAC, environment, learning_starts=1000)
    agent.learn(steps)
    return agent


def _measure_terminal_observation(inputs: Inputs) -> np.ndarray:
    x = inputs["observations"]
    steps = len(x) - 1
    ends = np.arange(steps) == steps - 1
    agent = _make_agent_with_stored_steps(inputs, terminated=ends, resets=np.full(steps, x[0]))
    return agent.replay_buffer.next_observations[steps - 1, 0]


def _measure_replayed_observations(inputs: Inputs) -> np.ndarray:
    agent = _make_agent_with_stored_steps(inputs)
    rows = agent.replay_buffer._get_samples(np.array([1, 2]), env=agent.get_vec_normalize_env())
    return rows.observations[:, 0].numpy()


def _measure_epsilon_with_fixed_statistics(inputs: Inputs) -> np.ndarray:
    environment = make_normalised_environments(
        make_script_of_observations([inputs["distance"], 0.0]), training=False
    )
    environment.obs_rms.mean = np.zeros(1)
    environment.obs_rms.var = np.full(1, inputs["deviation"] ** 2)
    return np.log10(environment.reset()[0])


PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, walk_through_normalised)
        for id, measure in normalisation_traps.MEASUREMENTS.items()
    },
    "normalisation.terminal_observation": _measure_terminal_observation,
    "normalisation.replay": _measure_replayed_observations,
    "normalisation.fixed.epsilon": _measure_epsilon_with_fixed_statistics,
}

ABSENT: Mapping[str, str] = {
    "normalisation.reward_clip.one_sided": (
        "clips rewards within VecNormalize, whose limit is one number for both sides"
    ),
}

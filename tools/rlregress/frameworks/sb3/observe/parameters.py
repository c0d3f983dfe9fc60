"""The probe of the next observation that a replay buffer stores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from stable_baselines3 import SAC

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import make_env_truncated_then_terminated


def _measure_next_observation(inputs: Inputs) -> np.ndarray:
    agent = probe_agents.make_small_off_policy_agent(
        SAC, make_env_truncated_then_terminated(), gradient_steps=0
    )
    agent.learn(inputs["steps"])
    return agent.replay_buffer.next_observations[[2, 4], 0, 0]


PROBES: Mapping[str, Probe] = {"replay.next_observation": _measure_next_observation}

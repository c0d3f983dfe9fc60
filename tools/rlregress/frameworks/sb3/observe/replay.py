"""Probes of replay buffers and n-step returns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from stable_baselines3 import TD3
from stable_baselines3.common.buffers import ReplayBuffer

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers import nstep_targets
from rlregress.probing.interface import Inputs, Probe, Unsupported
from rlregress.probing.isolation import shift_seed
from rlregress.probing.scripted import Scripted


def _measure_nstep_window(inputs: Inputs) -> np.ndarray:
    rewards, ones, number = (
        nstep_targets.measure_first_target(inputs, slope, constant)
        for slope, constant in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0))
    )
    return np.array([rewards, (number - rewards) / (ones - rewards)])


def _measure_discount_of_bootstrap(inputs: Inputs) -> np.ndarray:
    zero, with_bootstrap = (
        nstep_targets.measure_first_target(inputs, 0.0, constant) for constant in (0.0, 1.0)
    )
    return np.array([with_bootstrap - zero])


def _measure_targets_at_ends(inputs: Inputs) -> np.ndarray:
    return nstep_targets.measure_targets_of_slots(inputs, (0, 1, 2))


def _measure_targets_of_newest_steps(inputs: Inputs) -> np.ndarray:
    capacity = inputs["capacity"]
    return nstep_targets.measure_targets_of_slots(
        inputs, (4 % capacity, 5 % capacity), buffer_size=capacity
    )


def _measure_target_with_custom_buffer(inputs: Inputs) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array(
            [nstep_targets.measure_first_target(inputs, 0.0, 0.0, replay_buffer_class=ReplayBuffer)]
        )


def _add_transitions_with_rewards(agent: Any, rewards: Any) -> Any:
    for reward in rewards:
        probe_agents.add_equal_transitions(agent, 1, reward=float(reward))
    return agent.replay_buffer


def _measure_share_of_distinct_samples(inputs: Inputs) -> np.ndarray:
    count = inputs["count"]
    seed = shift_seed(inputs["seed"])
    agent = probe_agents.make_small_off_policy_agent(TD3, Scripted(), buffer_size=count, seed=seed)
    buffer = _add_transitions_with_rewards(agent, range(count))
    return np.array([len(np.unique(buffer.sample(count).rewards.numpy())) / count])


def _list_rewards_left_in_full_buffer(inputs: Inputs) -> np.ndarray:
    agent = probe_agents.make_small_off_policy_agent(
        TD3, Scripted(), buffer_size=inputs["capacity"]
    )
    return np.sort(_add_transitions_with_rewards(agent, inputs["rewards"]).rewards.flatten())


def _measure_shared_observations(inputs: Inputs) -> np.ndarray:
    box = gyms.spaces.Box(-1.0, 1.0, (1,), np.float32)
    if "optimize_memory_usage" not in compat.list_parameters_of_function(ReplayBuffer):
        raise Unsupported("the replay buffer of this version always stores both observations")
    try:
        buffer = ReplayBuffer(inputs["capacity"], box, box, "cpu", optimize_memory_usage=True)
    except ValueError:
        return np.array([1.0, 0.0])
    row = np.ones((1, 1))
    for _ in range(2):
        compat.add_transition(
            buffer, 0.0 * row, row, row, row[0], row[0], info={"TimeLimit.truncated": True}
        )
    following = buffer._get_samples(np.array([0])).next_observations.numpy()
    return np.array([0.0, float(np.isnan(following).all())])


PROBES: Mapping[str, Probe] = {
    "nstep.window": _measure_nstep_window,
    "nstep.discount": _measure_discount_of_bootstrap,
    "nstep.terminal": _measure_targets_at_ends,
    "nstep.truncation": _measure_targets_at_ends,
    "nstep.newest_steps": _measure_targets_of_newest_steps,
    "nstep.custom_buffer": _measure_target_with_custom_buffer,
    "replay.sampling": _measure_share_of_distinct_samples,
    "replay.overwriting": _list_rewards_left_in_full_buffer,
    "replay.shared_observations": _measure_shared_observations,
}

"""Probes of the replay buffers of the SAC and TD3 scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.frameworks.cleanrl.observe.helpers import small_runs
from rlregress.frameworks.cleanrl.running import start_script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs
from rlregress.probing.isolation import shift_seed
from rlregress.probing.scripted import Scripted, make_env_truncated_then_terminated

_SCRIPT = "td3_continuous_action"


def _make_buffer_of_script(source: Source, capacity: int) -> Any:
    """Return the replay buffer as the script makes it."""
    path = source.parse_script(_SCRIPT).path
    return start_script(path, {"buffer_size": capacity}, Scripted)["rb"]


def _store_transition(buffer: Any, reward: float) -> None:
    row = np.zeros((1, 1), np.float32)
    if hasattr(buffer, "put"):
        buffer.put((row[0], row[0], reward, row[0], False))
    else:
        buffer.add(row, row, row, np.array([reward]), np.array([False]), [{}])


def _measure_share_of_distinct_samples(source: Source, inputs: Inputs) -> float:
    count = int(inputs["count"])
    buffer = _make_buffer_of_script(source, count)
    for reward in range(count):
        _store_transition(buffer, float(reward))
    np.random.seed(shift_seed(int(inputs["seed"])))
    samples = buffer.sample(count)
    rewards = samples.rewards.numpy() if hasattr(samples, "rewards") else samples[2]
    return len(np.unique(rewards)) / count


def _list_rewards_left_in_full_buffer(source: Source, inputs: Inputs) -> np.ndarray:
    buffer = _make_buffer_of_script(source, int(inputs["capacity"]))
    for reward in inputs["rewards"]:
        _store_transition(buffer, float(reward))
    return np.sort(small_runs.read_stored_rewards(buffer))


def _measure_next_observation(source: Source, inputs: Inputs) -> np.ndarray:
    buffer = small_runs.run_off_policy_script(
        source, "sac_continuous_action", int(inputs["steps"]), make_env_truncated_then_terminated()
    )["rb"]
    stored = small_runs.read_stored_columns(buffer)["next_observations"]
    return np.ravel(stored)[[2, 4]].astype(np.float64)


PROBES: dict[str, Callable[[Source, Inputs], Any]] = {
    "replay.sampling": _measure_share_of_distinct_samples,
    "replay.overwriting": _list_rewards_left_in_full_buffer,
    "replay.next_observation": _measure_next_observation,
}
ABSENT: Mapping[str, str] = {
    "nstep": "the scripts for continuous actions have one-step targets",
    "replay.shared_observations": "the scripts for continuous actions do not use such an option",
}

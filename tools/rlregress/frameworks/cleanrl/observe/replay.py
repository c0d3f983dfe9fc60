"""Probes of the replay buffers of the SAC and TD3 scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.helpers import small_runs
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.slices import run_slice_up_to_anchor
from rlregress.frameworks.cleanrl.stubs import (
    CPU,
    StubNet,
    make_arguments_of_script,
    make_spaces_of_environments,
)
from rlregress.probing.interface import Inputs
from rlregress.probing.isolation import shift_seed
from rlregress.probing.scripted import Scripted

_SCRIPT = "td3_continuous_action"
_BUFFERS = "cleanrl_utils/buffers.py"


def _make_buffer_of_script(source: Source, capacity: int) -> Any:
    """Return the replay buffer as the script makes it."""
    script = source.parse_script(_SCRIPT)
    space = make_spaces_of_environments(-1.0, 1.0)
    variables = {
        "args": make_arguments_of_script(script, buffer_size=capacity, num_envs=1),
        "device": CPU,
        "envs": space,
        "env": space,
    }
    if source.has_file(_BUFFERS):
        variables["ReplayBuffer"] = source.load_module(_BUFFERS).ReplayBuffer
    return run_slice_up_to_anchor(script.find_statement_binding("replay buffer", "rb"), variables)[
        "rb"
    ]


def _store_transition(buffer: Any, reward: float) -> None:
    row = np.zeros((1, 1), np.float32)
    if hasattr(buffer, "put"):
        buffer.put((row[0], row[0], reward, row[0], False))
    else:
        buffer.add(row, row, row, np.array([reward]), np.array([False]), [{}])


def _measure_share_of_distinct_samples(source: Source, inputs: Inputs) -> np.ndarray:
    count = int(inputs["count"])
    buffer = _make_buffer_of_script(source, count)
    for reward in range(count):
        _store_transition(buffer, float(reward))
    np.random.seed(shift_seed(int(inputs["seed"])))
    samples = buffer.sample(count)
    rewards = samples.rewards.numpy() if hasattr(samples, "rewards") else samples[2]
    return np.array([len(np.unique(rewards)) / count])


def _count_rows_stored_in_warmup(source: Source, inputs: Inputs) -> np.ndarray:
    return np.array(
        [
            float(
                small_runs.count_stored_transitions(
                    small_runs.run_off_policy_script(
                        source,
                        script,
                        int(inputs["steps"]),
                        learning_starts=int(inputs["warmup"]),
                        batch_size=int(inputs["minibatch"]),
                    )["rb"]
                )
            )
            for script in ("sac_continuous_action", "td3_continuous_action")
        ]
    )


def _list_rewards_left_in_full_buffer(source: Source, inputs: Inputs) -> np.ndarray:
    buffer = _make_buffer_of_script(source, int(inputs["capacity"]))
    for reward in inputs["rewards"]:
        _store_transition(buffer, float(reward))
    return np.sort(small_runs.read_stored_rewards(buffer))


def _measure_target_with_both_flags(source: Source, inputs: Inputs) -> np.ndarray:
    environment = Scripted(terminated=1.0, truncated=1.0)
    script = source.parse_script(_SCRIPT)
    samples = small_runs.run_off_policy_script(source, _SCRIPT, 4, environment)["rb"].sample(2)
    columns = samples if not hasattr(samples, "rewards") else (None,) * 5
    value = StubNet(lambda *_: torch.full((2, 1), inputs["value"]))
    space = make_spaces_of_environments(-1.0, 1.0)
    variables = {
        "args": make_arguments_of_script(script, gamma=inputs["discount"]),
        "device": CPU,
        "data": samples,
        **dict(
            zip(
                ("s_obs", "s_actions", "s_rewards", "s_next_obses", "s_dones"),
                columns,
                strict=False,
            )
        ),
        "next_state_actions": torch.zeros(2, 1),
        "qf1_target": value,
        "qf2_target": value,
        "env": space,
        "envs": space,
    }
    target = run_slice_up_to_anchor(
        script.find_statement_binding("regression target", "next_q_value"), variables
    )
    return target.get_vector("next_q_value")[:1]


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "replay.sampling": _measure_share_of_distinct_samples,
    "replay.warmup": _count_rows_stored_in_warmup,
    "replay.overwriting": _list_rewards_left_in_full_buffer,
    "replay.both_flags": _measure_target_with_both_flags,
}
_ONE_STEP = "the scripts for continuous actions have one-step targets"
ABSENT: Mapping[str, str] = {
    "nstep.window": _ONE_STEP,
    "nstep.discount": _ONE_STEP,
    "nstep.terminal": _ONE_STEP,
    "nstep.truncation": _ONE_STEP,
    "nstep.newest_steps": _ONE_STEP,
    "nstep.custom_buffer": _ONE_STEP,
    "replay.shared_observations": "the scripts for continuous actions do not use such an option",
}

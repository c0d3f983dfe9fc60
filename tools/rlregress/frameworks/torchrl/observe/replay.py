"""Probes of replay buffers and n-step returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import (
    LazyTensorStorage,
    MultiStep,
    NextStateReconstructor,
    TD0Estimator,
    TensorDict,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.known_networks import make_number_layer, make_v_network
from rlregress.frameworks.torchrl.observe.drivers import twin_loops
from rlregress.frameworks.torchrl.scripted_environments import collect_batch, wrap_environment
from rlregress.measurements.twin_agents import Settings
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.isolation import shift_seed
from rlregress.probing.scripted import Scripted, make_counting_environment


def _estimate_targets(inputs: Inputs, batch: Any, slope: float, constant: float) -> np.ndarray:
    """Return the target of each step; an observation s has the value slope s + constant."""
    layer = make_number_layer(slope, constant, torch.float32)
    estimator = TD0Estimator(gamma=inputs["discount"], value_network=make_v_network(layer))
    return estimator.value_estimate(batch).detach().numpy().reshape(-1)


def _compute_nstep_targets(
    inputs: Inputs, environment: Scripted, slope: float = 1.0, constant: float = 0.0
) -> np.ndarray:
    postprocess = MultiStep(gamma=inputs["discount"], n_steps=int(inputs["n"]))
    batch = collect_batch(
        wrap_environment(environment), len(inputs["rewards"]), postproc=postprocess
    )
    return _estimate_targets(inputs, batch, slope, constant)


def _compute_first_target(inputs: Inputs, slope: float, constant: float) -> float:
    rewards = inputs["rewards"]
    environment = make_counting_environment(len(rewards), rewards=rewards)
    return float(_compute_nstep_targets(inputs, environment, slope, constant)[0])


def _measure_nstep_window(inputs: Inputs) -> list[float]:
    rewards, ones, number = (
        _compute_first_target(inputs, slope, constant)
        for slope, constant in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0))
    )
    return [rewards, (number - rewards) / (ones - rewards)]


def _measure_nstep_discount(inputs: Inputs) -> float:
    return _compute_first_target(inputs, 0.0, 1.0) - _compute_first_target(inputs, 0.0, 0.0)


def _measure_targets(steps: Sequence[int], inputs: Inputs) -> np.ndarray:
    environment = Scripted(
        next_observations=inputs["next_values"],
        rewards=inputs["rewards"],
        terminated=inputs["terminated"],
        truncated=inputs["truncated"],
    )
    return _compute_nstep_targets(inputs, environment)[list(steps)]


def _make_buffer(capacity: int, **options: Any) -> Any:
    return TensorDictReplayBuffer(storage=LazyTensorStorage(capacity), **options)


def _make_transitions(numbers: Any) -> Any:
    return TensorDict({"reward": torch.as_tensor(numbers, dtype=torch.float32)}, [len(numbers)])


def _measure_share_of_distinct_samples(inputs: Inputs) -> float:
    count = int(inputs["count"])
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    buffer = _make_buffer(count, batch_size=count)
    buffer.extend(_make_transitions(np.arange(count)))
    return len(np.unique(buffer.sample()["reward"].numpy())) / count


def _list_rewards_left_in_full_buffer(inputs: Inputs) -> Any:
    buffer = _make_buffer(int(inputs["capacity"]))
    for transition in _make_transitions(inputs["rewards"]).unbind(0):
        buffer.add(transition)
    return np.sort(buffer[:]["reward"].numpy())


def _count_rows_stored_in_warmup(driver: Callable[..., Any], inputs: Inputs) -> list[int]:
    settings = Settings(
        steps=int(inputs["steps"]),
        starts=int(inputs["warmup"]),
        collected_at_once=int(inputs["batch"]),
        batch_size=int(inputs["minibatch"]),
    )
    trained = [driver(family, settings) for family in ("sac", "td3")]
    for training in trained:
        training.run_loop()
    return [len(training.buffer) for training in trained]


def _flag_nan_in_rebuilt_observation(inputs: Inputs) -> list[float]:
    environment = Scripted(rewards=[1.0], truncated=[0.0, 1.0])
    try:
        batch = collect_batch(
            wrap_environment(environment), int(inputs["capacity"]), compact_obs=True
        )
    except (ValueError, RuntimeError):
        return [1.0, 0.0]
    following = NextStateReconstructor()(batch)["next", "observation"]
    return [0.0, float(torch.isnan(following[1]).all())]


def _measure_target_with_both_flags(inputs: Inputs) -> float:
    environment = Scripted(rewards=[inputs["reward"]], terminated=[1.0], truncated=[1.0])
    batch = collect_batch(wrap_environment(environment), 4)
    buffer = _make_buffer(4, batch_size=1)
    buffer.extend(batch)
    return float(_estimate_targets(inputs, buffer.sample(), 0.0, inputs["value"])[0])


PROBES: dict[tuple[str, str], Probe] = {
    ("nstep.window", "library"): _measure_nstep_window,
    ("nstep.discount", "library"): _measure_nstep_discount,
    ("nstep.terminal", "library"): partial(_measure_targets, (0, 1, 2)),
    ("nstep.truncation", "library"): partial(_measure_targets, (0, 1, 2)),
    ("nstep.newest_steps", "library"): partial(_measure_targets, (4, 5)),
    ("replay.sampling", "library"): _measure_share_of_distinct_samples,
    ("replay.warmup", "trainer"): partial(_count_rows_stored_in_warmup, twin_loops.TrainerDriver),
    ("replay.warmup", "script"): partial(_count_rows_stored_in_warmup, twin_loops.ProgramDriver),
    ("replay.overwriting", "library"): _list_rewards_left_in_full_buffer,
    ("replay.shared_observations", "library"): _flag_nan_in_rebuilt_observation,
    ("replay.both_flags", "library"): _measure_target_with_both_flags,
}
ABSENT: Mapping[str, str] = {
    "nstep.custom_buffer": "n belongs to a module of its own, MultiStep, not to a buffer class",
}

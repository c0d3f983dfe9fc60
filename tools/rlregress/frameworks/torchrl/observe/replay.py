"""Probes of replay buffers and n-step returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    LazyTensorStorage,
    MultiStep,
    NextStateReconstructor,
    TD0Estimator,
    TensorDict,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.known_networks import v_network
from rlregress.frameworks.torchrl.observe.drivers import twin_programs, twin_trainers
from rlregress.frameworks.torchrl.observe.helpers import tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.measurements.twin_agents import Settings
from rlregress.probing.interface import Inputs
from rlregress.probing.isolation import shift_seed
from rlregress.probing.scripted import Scripted


def _linear(slope: float, constant: float) -> nn.Linear:
    layer = nn.Linear(1, 1)
    nn.init.constant_(layer.weight, slope)
    nn.init.constant_(layer.bias, constant)
    return layer


def _nstep(i: Inputs, environment: Scripted, slope: float = 1.0, constant: float = 0.0) -> Any:
    """n-step targets of all steps where the value of an observation s is slope s + constant."""
    postprocess = MultiStep(gamma=i["discount"], n_steps=int(i["n"]))
    batch = tiny_trainers.collect_batch(
        wrap_environment(environment), len(i["rewards"]), postproc=postprocess
    )
    estimator = TD0Estimator(gamma=i["discount"], value_network=v_network(_linear(slope, constant)))
    return estimator.value_estimate(batch).detach().numpy().reshape(-1)


def _make_counting_environment(i: Inputs) -> Scripted:
    steps = range(len(i["rewards"]))
    following = [step + 1 for step in steps]
    return Scripted(observations=steps, next_observations=following, rewards=i["rewards"])


def _first_target(i: Inputs, slope: float, constant: float) -> float:
    return float(_nstep(i, _make_counting_environment(i), slope, constant)[0])


def _window(i: Inputs) -> list[float]:
    rewards, ones, number = (
        _first_target(i, slope, constant)
        for slope, constant in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0))
    )
    return [rewards, (number - rewards) / (ones - rewards)]


def _discount(i: Inputs) -> float:
    return _first_target(i, 0.0, 1.0) - _first_target(i, 0.0, 0.0)


def _targets(steps: Sequence[int]) -> Raw:
    def probe(i: Inputs) -> Any:
        environment = Scripted(
            next_observations=i["next_values"],
            rewards=i["rewards"],
            terminated=i["terminated"],
            truncated=i["truncated"],
        )
        return _nstep(i, environment)[list(steps)]

    return probe


def _buffer(capacity: int, **options: Any) -> Any:
    return TensorDictReplayBuffer(storage=LazyTensorStorage(capacity), **options)


def _make_transitions(numbers: Any) -> Any:
    return TensorDict({"reward": torch.as_tensor(numbers, dtype=torch.float32)}, [len(numbers)])


def _sampling(i: Inputs) -> float:
    count = int(i["count"])
    torch.manual_seed(shift_seed(int(i["seed"])))
    buffer = _buffer(count, batch_size=count)
    buffer.extend(_make_transitions(np.arange(count)))
    return len(np.unique(buffer.sample()["reward"].numpy())) / count


def _overwriting(i: Inputs) -> Any:
    buffer = _buffer(int(i["capacity"]))
    for transition in _make_transitions(i["rewards"]).unbind(0):
        buffer.add(transition)
    return np.sort(buffer[:]["reward"].numpy())


def _warmup(driver: Callable[..., Any]) -> Raw:
    def probe(i: Inputs) -> list[float]:
        settings = Settings(
            steps=int(i["steps"]),
            starts=int(i["warmup"]),
            collected_at_once=int(i["batch"]),
            batch_size=int(i["minibatch"]),
        )
        trained = [driver(family, settings) for family in ("sac", "td3")]
        for training in trained:
            training.run()
        return [float(len(training.buffer)) for training in trained]

    return probe


def _shared_observations(i: Inputs) -> list[float]:
    environment = Scripted(rewards=[1.0], truncated=[0.0, 1.0])
    try:
        batch = tiny_trainers.collect_batch(
            wrap_environment(environment), int(i["capacity"]), compact_obs=True
        )
    except (ValueError, RuntimeError):
        return [1.0, 0.0]
    following = NextStateReconstructor()(batch)["next", "observation"]
    return [0.0, float(torch.isnan(following[1]).all())]


def _both_flags(i: Inputs) -> float:
    environment = Scripted(rewards=[i["reward"]], terminated=[1.0], truncated=[1.0])
    batch = tiny_trainers.collect_batch(wrap_environment(environment), 4)
    buffer = _buffer(4, batch_size=1)
    buffer.extend(batch)
    estimator = TD0Estimator(gamma=i["discount"], value_network=v_network(_linear(0.0, i["value"])))
    return float(estimator.value_estimate(buffer.sample()))


PROBES: dict[tuple[str, str], Raw] = {
    ("nstep.window", "library"): _window,
    ("nstep.discount", "library"): _discount,
    ("nstep.terminal", "library"): _targets((0, 1, 2)),
    ("nstep.truncation", "library"): _targets((0, 1, 2)),
    ("nstep.newest_steps", "library"): _targets((4, 5)),
    ("replay.sampling", "library"): _sampling,
    ("replay.warmup", "trainer"): _warmup(twin_trainers.Driver),
    ("replay.warmup", "script"): _warmup(twin_programs.Driver),
    ("replay.overwriting", "library"): _overwriting,
    ("replay.shared_observations", "library"): _shared_observations,
    ("replay.both_flags", "library"): _both_flags,
}
ABSENT: Mapping[str, str] = {
    "nstep.custom_buffer": "n belongs to a module of its own, MultiStep, not to a buffer class",
}

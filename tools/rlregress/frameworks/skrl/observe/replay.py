"""Probes of stored rows, and of undocumented behaviour of skrl's agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import mock

import numpy as np
import torch

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import NEVER, Training
from rlregress.frameworks.skrl.observe.drivers.twins import Driver, count_critics
from rlregress.measurements.twin_agents import Settings
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.isolation import shift_seed
from rlregress.probing.layers import make_constant
from rlregress.probing.scripted import Scripted, end_after, make_ending_environment


def _collect_steps(
    steps: int, environment: Scripted, kind: str = "sac", **options: Any
) -> Training:
    training = Training(kind, environment, learning_starts=NEVER, **options)
    training.run(steps)
    return training


def _next_observation(inputs: Inputs) -> np.ndarray:
    training = _collect_steps(int(inputs["steps"]), make_ending_environment())
    return training.stored("next_observations")[[2, 4], 0, 0].double().numpy()


def _sampling(inputs: Inputs) -> np.ndarray:
    count = int(inputs["count"])
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    training = Training("td3", rows=count)
    training.trainer(1)
    rewards = training.stored("rewards")
    rewards[:, 0, 0] = torch.arange(count)
    training.memory.filled = True
    (batch,) = training.memory.sample(names=["rewards"], batch_size=count)
    return np.array([len(torch.unique(batch[0])) / count])


def _warmup(inputs: Inputs) -> np.ndarray:
    stored = []
    for kind in ("sac", "td3"):
        training = Training(
            kind,
            batch_size=int(inputs["minibatch"]),
            random_timesteps=int(inputs["warmup"]),
            learning_starts=int(inputs["warmup"]),
        )
        training.run(int(inputs["steps"]))
        stored.append(float(len(training.memory)))
    return np.array(stored)


def _overwriting(inputs: Inputs) -> np.ndarray:
    environment = Scripted(rewards=inputs["rewards"])
    training = _collect_steps(len(inputs["rewards"]), environment, rows=int(inputs["capacity"]))
    return np.sort(training.stored("rewards").flatten().double().numpy())


def _both_flags(inputs: Inputs) -> np.ndarray:
    settings = Settings(
        reward=float(inputs["reward"]),
        discount=float(inputs["discount"]),
        terminated=1.0,
        truncated=1.0,
    )
    return np.array([Driver("td3", settings).target([inputs["value"]] * 2)])


def _truncated_flags(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])
    memory = _collect_steps(steps, Scripted(), "td3").memory
    if "truncated" not in memory.get_tensor_names():
        return np.full(steps, -1.0)
    return memory.get_tensor_by_name("truncated")[:steps, 0, 0].double().numpy()


def _autoreset(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])
    environments = [
        Scripted(rewards=1.0, terminated=end_after(int(inputs["episode"]))) for _ in range(2)
    ]
    # one environment is reset by the trainer: Gymnasium's vectorised form begins with two
    training = Training("td3", *environments, learning_starts=NEVER)
    training.run(steps)
    return np.array([0.0, float((training.stored("rewards")[:steps, 0] == 0.0).double().mean())])


def _critic_count(inputs: Inputs) -> np.ndarray:
    return np.array([float(count_critics(Training(kind))) for kind in ("sac", "td3")])


def _exploration_draw(inputs: Inputs) -> np.ndarray:
    actions, count = int(inputs["actions"]), int(inputs["environments"])
    schedule = compat.make_epsilon_schedule(float(inputs["epsilon"]), float(inputs["epsilon"]), 1.0)
    training = Training("dqn", Scripted(discrete=actions), exploration_scheduler=schedule)
    training.trainer(1)
    make_constant(training.models["q_network"], np.eye(actions)[-1])
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    training.environments[0].action_space.seed(shift_seed(int(inputs["seed"])))
    mixed = []
    for _ in range(int(inputs["calls"])):
        drawn_actions = compat.act(training.agent, torch.zeros(count, 1))[0]
        greedy = drawn_actions.flatten() == actions - 1
        mixed.append(bool(greedy.any()) and not bool(greedy.all()))
    return np.array([np.mean(mixed)])


def _hard_update_period(inputs: Inputs) -> np.ndarray:
    training = Training(
        "dqn",
        Scripted(discrete=2),
        target_update_interval=int(inputs["interval"]),
        polyak=1.0,
        learning_rate=0.0,
        batch_size=1,
    )
    copies: list[int] = []
    online, target = training.models.values()
    update, step = getattr(training.agent, compat.UPDATE), 0

    def recording(*times: Any, **named: Any) -> None:
        nonlocal step
        step += 1
        # the trained network moves at every update, so that a copy shows
        fill_parameters(online.parameters(), step)
        update(*times, **named)
        if all(bool((p == step).all()) for p in target.parameters()):
            copies.append(step)

    with mock.patch.object(training.agent, compat.UPDATE, recording):
        training.run(int(inputs["steps"]))
    return np.diff(copies[:3]).astype(np.float64)


PROBES: Mapping[str, Probe] = {
    "replay.next_observation": _next_observation,
    "replay.sampling": _sampling,
    "replay.warmup": _warmup,
    "replay.overwriting": _overwriting,
    "replay.both_flags": _both_flags,
    "collection.truncated_flags": _truncated_flags,
    "collection.autoreset": _autoreset,
    "networks.critic_count": _critic_count,
    "dqn.exploration.draw": _exploration_draw,
    "target.hard_update_period": _hard_update_period,
}
ABSENT: Mapping[str, str] = {
    "replay.shared_observations": "stores the next observation of every step",
    "networks.single_critic": "trains the Q networks that it is given, and copies none",
}

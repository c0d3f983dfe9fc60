"""Probes of stored rows, and of undocumented behaviour of skrl's agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import NEVER, AgentSetup
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.isolation import shift_seed
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import (
    Scripted,
    make_env_truncated_then_terminated,
    make_script_of_end_after,
)


def _make_training_with_steps(
    steps: int, environment: Scripted, algorithm: str = "sac", **options: Any
) -> AgentSetup:
    training = AgentSetup(algorithm, environment, learning_starts=NEVER, **options)
    training.run_steps(steps)
    return training


def _measure_next_observation(inputs: Inputs) -> np.ndarray:
    training = _make_training_with_steps(int(inputs["steps"]), make_env_truncated_then_terminated())
    return training.read_stored_tensor("next_observations")[[2, 4], 0, 0].double().numpy()


def _measure_sampling(inputs: Inputs) -> float:
    count = int(inputs["count"])
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    training = AgentSetup("td3", rows=count)
    training.make_trainer(1)
    rewards = training.read_stored_tensor("rewards")
    rewards[:, 0, 0] = torch.arange(count)
    training.memory.filled = True
    (batch,) = training.memory.sample(names=["rewards"], batch_size=count)
    return len(torch.unique(batch[0])) / count


def _measure_overwriting(inputs: Inputs) -> np.ndarray:
    environment = Scripted(rewards=inputs["rewards"])
    training = _make_training_with_steps(
        len(inputs["rewards"]), environment, rows=int(inputs["capacity"])
    )
    return np.sort(training.read_stored_tensor("rewards").flatten().double().numpy())


def _measure_truncated_flags(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])
    memory = _make_training_with_steps(steps, Scripted(), "td3").memory
    if "truncated" not in memory.get_tensor_names():
        return np.full(steps, -1.0)
    return memory.get_tensor_by_name("truncated")[:steps, 0, 0].double().numpy()


def _measure_autoreset(inputs: Inputs) -> list[float]:
    steps = int(inputs["steps"])
    environments = [
        Scripted(rewards=1.0, terminated=make_script_of_end_after(int(inputs["episode"])))
        for _ in range(2)
    ]
    # one environment is reset by the trainer: Gymnasium's vectorised form begins with two
    training = AgentSetup("td3", *environments, learning_starts=NEVER)
    training.run_steps(steps)
    rewards = training.read_stored_tensor("rewards")[:steps, 0]
    return [0.0, float((rewards == 0.0).double().mean())]


def _measure_share_of_mixed_exploration(inputs: Inputs) -> float:
    actions, count = int(inputs["actions"]), int(inputs["environments"])
    schedule = compat.make_epsilon_schedule(float(inputs["epsilon"]), float(inputs["epsilon"]), 1.0)
    training = AgentSetup("dqn", Scripted(discrete=actions), exploration_scheduler=schedule)
    training.make_trainer(1)
    make_output_constant(training.models["q_network"], np.eye(actions)[-1])
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    training.environments[0].action_space.seed(shift_seed(int(inputs["seed"])))
    mixed = []
    for _ in range(int(inputs["calls"])):
        drawn_actions = compat.act_on_observations(training.agent, torch.zeros(count, 1))[0]
        greedy = drawn_actions.flatten() == actions - 1
        mixed.append(bool(greedy.any()) and not bool(greedy.all()))
    return float(np.mean(mixed))


PROBES: Mapping[str, Probe] = {
    "replay.next_observation": _measure_next_observation,
    "replay.sampling": _measure_sampling,
    "replay.overwriting": _measure_overwriting,
    "collection.truncated_flags": _measure_truncated_flags,
    "collection.autoreset": _measure_autoreset,
    "dqn.exploration.draw": _measure_share_of_mixed_exploration,
}
ABSENT: Mapping[str, str] = {
    "replay.shared_observations": "stores the next observation of every step",
    "networks.single_critic": "trains the Q networks that it is given, and copies none",
}

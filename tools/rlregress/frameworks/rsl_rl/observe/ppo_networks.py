"""Probes of PPO's networks and of the actions that they choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised, make_runner
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements.ppo_trainings import Settings
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import (
    describe_ppo_networks_as_numbers,
    list_linear_layers,
    measure_ppo_initialisation,
)
from rlregress.probing.scripted import Scripted


def _make_networks(environment: Any, networks: Networks) -> list[torch.nn.Module]:
    """Return the layers of an agent's actor and critic."""
    agent = make_runner(environment, 8, networks).alg
    return [compat.find_layers_of_network(agent, name) for name in ("actor", "critic")]


def _measure_initialisation(inputs: Inputs) -> list[float]:
    bound = np.ones(inputs["action_dimensions"])
    environment = Scripted(-bound, bound, observation_dimensions=inputs["observation_dimensions"])
    parts = _make_networks(environment, Networks(hidden=[inputs["hidden"]] * 2))
    return measure_ppo_initialisation([own for part in parts for own in list_linear_layers(part)])


def _measure_networks(inputs: Inputs) -> np.ndarray:
    parts: list[Any] = _make_networks(Scripted(), Networks())
    fed = torch.tensor(np.array(inputs["fed"]), dtype=torch.float32)
    return describe_ppo_networks_as_numbers(parts, 1, parts, fed)


def _measure_log_std(inputs: Inputs) -> list[float]:
    def set_biases_to_zero(agent: Any) -> None:
        for layer in compat.list_layers(agent, "actor"):
            torch.nn.init.zeros_(layer.bias)

    trained = [
        trainings.train(
            Settings([{"observations": observation, "next_observations": observation}], 2),
            Networks(),
            set_biases_to_zero,
        )
        for observation in (0.0, inputs["observation"])
    ]
    logs = np.log([training.rollouts[0].deviations[0].item() for training in trained])
    return [logs[0], abs(logs[1] - logs[0]) > 1e-6]


def _measure_actions_at_fixed_means(inputs: Inputs) -> list[float]:
    environment = Scripted(inputs["low"], inputs["high"])
    vectorised = Vectorised(environment)
    runner = make_runner(vectorised, 8)
    for mean in inputs["means"]:
        compat.fix_outputs(runner.alg, actor=mean, log_deviation=float(np.log(inputs["scale"])))
        play = runner.get_inference_policy()
        with torch.no_grad():
            vectorised.step(play(vectorised.observe()))
    return [action.item() for action in environment.received]


PROBES: Mapping[str, Probe] = {
    "ppo.initialisation": _measure_initialisation,
    "ppo.networks": _measure_networks,
    "ppo.log_std": _measure_log_std,
    "ppo.action.distribution": _measure_actions_at_fixed_means,
}
ABSENT: Mapping[str, str] = {
    "gae.kernel": "has one implementation of the recursion",
    "gae.reset_env": "has no switch for environments that reset themselves: all do",
}

"""Probes of PPO's networks and rollouts: its own models, runner and storage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised, make_runner
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import (
    describe_ppo_networks_as_numbers,
    list_linear_layers,
    measure_ppo_initialisation,
)
from rlregress.probing.scripted import Scripted, make_script_of_segment

#: log of a standard deviation that does not matter beside a mean
_NARROW = -12.0


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
        trainings.train_and_record(
            Scripted(observations=observation, next_observations=observation),
            steps=2,
            networks=Networks(),
            prepare=set_biases_to_zero,
        )
        for observation in (0.0, inputs["observation"])
    ]
    logs = np.log([training.rollouts[0].deviations[0].item() for training in trained])
    return [logs[0], abs(logs[1] - logs[0]) > 1e-6]


def _list_executed_and_stored_action(inputs: Inputs, mean: float) -> list[float]:
    """Return the first action of a rollout, as executed and as stored."""
    environment = Scripted(inputs["low"], inputs["high"])
    training = trainings.train_and_record(
        environment,
        steps=2,
        prepare=partial(compat.fix_outputs, actor=mean, log_deviation=_NARROW),
    )
    return [environment.received[0].item(), training.rollouts[0].actions[0].item()]


def _measure_action_bounding(inputs: Inputs) -> np.ndarray:
    actions = [_list_executed_and_stored_action(inputs, x) for x in inputs["samples"]]
    return np.transpose(actions).ravel()


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


def _measure_share_of_wrong_log_probs(inputs: Inputs) -> list[float]:
    training = trainings.train_and_record(
        Scripted(),
        steps=inputs["count"],
        prepare=partial(compat.fix_outputs, actor=inputs["mean"]),
    )
    return [np.mean(np.abs(np.concatenate(training.log_ratios)) > 0.01)]


def _measure_advantages_and_targets(
    inputs: Inputs, gae_lambda: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return advantages and value targets of a segment with V(s) = s, [steps] each."""
    training = trainings.train_and_record(
        Scripted(**make_script_of_segment(inputs)),
        steps=len(inputs["rewards"]),
        networks=trainings.LINEAR,
        prepare=partial(trainings.make_network_linear, name="critic"),
        gamma=inputs["discount"],
        lam=inputs["trace"] if gae_lambda is None else gae_lambda,
        **compat.RAW_ADVANTAGES,
    )
    rollout = training.rollouts[0]
    # those of 2.1 are always normalised
    stored = rollout.advantages if compat.RAW_ADVANTAGES else rollout.returns - rollout.values
    return stored.ravel(), rollout.returns.ravel()


def _measure_advantages_at_lambda_zero(inputs: Inputs) -> list[float]:
    return [0.0, *_measure_advantages_and_targets(inputs, 0.0)[0]]


def _measure_advantage_after_value_change(inputs: Inputs) -> list[float]:
    def prepare_agent(agent: Any) -> None:
        def change_values_and_compute(compute: Any, *arguments: Any) -> None:
            compat.fix_outputs(agent, critic=inputs["next_value"])
            compute(*arguments)

        compat.fix_outputs(agent, critic=inputs["value"])
        compat.wrap_method(agent, "compute_returns", change_values_and_compute)

    environment = Scripted(rewards=inputs["reward"], terminated=1.0)
    rollout = trainings.train_and_record(
        environment, steps=1, prepare=prepare_agent, gamma=inputs["discount"]
    ).rollouts[0]
    return [rollout.returns.item() - rollout.values.item()]


PROBES: Mapping[str, Probe] = {
    "ppo.initialisation": _measure_initialisation,
    "ppo.networks": _measure_networks,
    "ppo.log_std": _measure_log_std,
    "ppo.action.bounding": _measure_action_bounding,
    "ppo.action.distribution": _measure_actions_at_fixed_means,
    "policy.out_of_bounds": lambda i: _list_executed_and_stored_action(i, i["mean"])[:1],
    "policy.stored_log_prob": _measure_share_of_wrong_log_probs,
    "gae.truncation": lambda inputs: _measure_advantages_and_targets(inputs)[0],
    "gae.value_target": lambda inputs: _measure_advantages_and_targets(inputs)[1],
    "gae.lambda_zero": _measure_advantages_at_lambda_zero,
    "gae.stored_values": _measure_advantage_after_value_change,
}
ABSENT: Mapping[str, str] = {
    "gae.kernel": "has one implementation of the recursion",
    "gae.reset_env": "has no switch for environments that reset themselves: all do",
}

"""Probes of PPO's networks and rollouts: its own models, runner and storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import (
    describe_ppo_networks_as_numbers,
    list_linear_layers,
    make_output_constant,
    measure_ppo_initialisation,
)
from rlregress.probing.scripted import Scripted, make_script_of_segment

#: log of a standard deviation that does not matter beside a mean
_NARROW = -12.0


def _measure_initialisation(inputs: Inputs) -> np.ndarray:
    bound = np.ones(int(inputs["action_dimensions"]))
    environment = Scripted(
        -bound, bound, observation_dimensions=int(inputs["observation_dimensions"])
    )
    agent = trainings.make_runner(environment, 8, Networks(hidden=[int(inputs["hidden"])] * 2)).alg
    parts = [compat.find_layers_of_network(agent, name) for name in ("actor", "critic")]
    return np.array(
        measure_ppo_initialisation([own for part in parts for own in list_linear_layers(part)])
    )


def _measure_networks(inputs: Inputs) -> np.ndarray:
    agent = trainings.make_runner(Scripted(), 8, Networks()).alg
    parts = [compat.find_layers_of_network(agent, name) for name in ("actor", "critic")]
    fed = torch.tensor(np.array(inputs["fed"]), dtype=torch.float32)
    return describe_ppo_networks_as_numbers(parts, 1, parts, fed)


def _measure_log_std(inputs: Inputs) -> np.ndarray:
    def set_biases_to_zero(agent: Any) -> None:
        for layer in list_linear_layers(compat.find_layers_of_network(agent, "actor")):
            torch.nn.init.zeros_(layer.bias)

    scales: list[float] = []
    for observation in (0.0, float(inputs["observation"])):
        trainings.train_and_record(
            Scripted(observations=observation, next_observations=observation),
            1,
            steps=2,
            networks=Networks(),
            prepare=set_biases_to_zero,
            change=lambda storage: scales.append(
                compat.read_stored_distribution(storage)[1][0].item()
            ),
        )
    logs = np.log(scales)
    return np.array([logs[0], abs(logs[1] - logs[0]) > 1e-6])


def _make_narrowing_function(mean: float) -> Any:
    def narrow_policy(agent: Any) -> None:
        compat.fix_network_output(agent, "actor", mean)
        compat.set_log_deviation_of_policy(agent, _NARROW)

    return narrow_policy


def _list_executed_and_stored_action(inputs: Inputs, mean: float) -> list[float]:
    """Return the first action of a rollout, as executed and as stored."""
    environment = Scripted(inputs["low"], inputs["high"])
    stored: list[float] = []
    trainings.train_and_record(
        environment,
        1,
        steps=2,
        learning_rate=trainings.FROZEN,
        prepare=_make_narrowing_function(mean),
        change=lambda storage: stored.append(storage.actions[0].item()),
    )
    return [environment.received[0].item(), stored[0]]


def _measure_action_bounding(inputs: Inputs) -> np.ndarray:
    return np.array(
        [_list_executed_and_stored_action(inputs, x) for x in inputs["samples"]]
    ).T.ravel()


def _measure_executed_action_beyond_bounds(inputs: Inputs) -> np.ndarray:
    return np.array(_list_executed_and_stored_action(inputs, float(inputs["mean"]))[:1])


def _measure_actions_at_fixed_means(inputs: Inputs) -> np.ndarray:
    environment = Scripted(inputs["low"], inputs["high"])
    vectorised = Vectorised(environment)
    runner = trainings.make_runner(vectorised, 8)
    compat.set_log_deviation_of_policy(runner.alg, float(np.log(inputs["scale"])))
    for mean in inputs["means"]:
        compat.fix_network_output(runner.alg, "actor", mean)
        play = runner.get_inference_policy()
        with torch.no_grad():
            vectorised.step(
                play(
                    compat.arrange_returned_observations(
                        vectorised.group_observations(), is_step=True
                    )
                )
            )
    return np.array([action.item() for action in environment.received])


def _measure_share_of_wrong_log_probs(inputs: Inputs) -> np.ndarray:
    training = trainings.train_and_record(
        Scripted(),
        1,
        steps=int(inputs["count"]),
        learning_rate=trainings.FROZEN,
        prepare=lambda agent: compat.fix_network_output(agent, "actor", inputs["mean"]),
    )
    return np.array([np.mean(np.abs(np.concatenate(training.log_ratios)) > 0.01)])


def _compute_advantages_and_targets(inputs: Inputs, **algorithm: Any) -> np.ndarray:
    """Return advantages and value targets of a segment with V(s) = s, [2, steps]."""
    advantages: list[np.ndarray] = []

    def copy_advantages(storage: Any) -> None:
        # those of 2.1 are always normalised
        stored = storage.advantages if compat.RAW_ADVANTAGES else storage.returns - storage.values
        advantages.extend(
            array.numpy().astype(np.float64).ravel() for array in (stored, storage.returns)
        )

    trainings.train_and_record(
        Scripted(**make_script_of_segment(inputs)),
        1,
        steps=len(inputs["rewards"]),
        networks=trainings.LINEAR,
        change=copy_advantages,
        prepare=lambda agent: trainings.make_network_linear(
            compat.find_layers_of_network(agent, "critic")
        ),
        gamma=float(inputs["discount"]),
        **compat.RAW_ADVANTAGES,
        **algorithm,
    )
    return np.stack(advantages)


def _measure_advantages_and_targets(inputs: Inputs) -> np.ndarray:
    return _compute_advantages_and_targets(inputs, lam=float(inputs["trace"]))


def _measure_advantages_at_lambda_zero(inputs: Inputs) -> np.ndarray:
    return np.array([0.0, *_compute_advantages_and_targets(inputs, lam=0.0)[0]])


def _measure_advantage_after_value_change(inputs: Inputs) -> np.ndarray:
    values: list[float] = []

    def prepare_agent(agent: Any) -> None:
        critic, compute = compat.find_layers_of_network(agent, "critic"), agent.compute_returns

        def change_values_and_compute_returns(*arguments: Any) -> None:
            make_output_constant(critic, inputs["next_value"])
            compute(*arguments)
            values.append(agent.storage.returns.item() - agent.storage.values.item())

        make_output_constant(critic, inputs["value"])
        agent.compute_returns = change_values_and_compute_returns

    environment = Scripted(rewards=inputs["reward"], terminated=1.0)
    trainings.train_and_record(
        environment, 1, steps=1, prepare=prepare_agent, gamma=float(inputs["discount"])
    )
    return np.array(values)


PROBES: Mapping[str, Probe] = {
    "ppo.initialisation": _measure_initialisation,
    "ppo.networks": _measure_networks,
    "ppo.log_std": _measure_log_std,
    "ppo.action.bounding": _measure_action_bounding,
    "ppo.action.distribution": _measure_actions_at_fixed_means,
    "policy.out_of_bounds": _measure_executed_action_beyond_bounds,
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

"""Probes of random network distillation beside PPO: its own rewards and update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.observe.helpers.trainings import (
    FROZEN,
    AgentTraining,
    train_and_record,
)
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import compute_gradient_norm, list_linear_layers, make_output_constant
from rlregress.probing.recorded_update import record_differentiated_losses
from rlregress.probing.scripted import Scripted


def freeze_predictor(agent: Any) -> None:
    """Set the predictor's learning rate, which not every version can configure, to almost 0."""
    for group in compat.find_curiosity_optimizer(agent).param_groups:
        group["lr"] = FROZEN


def _train_with_constant_outputs(
    inputs: Inputs,
    on_step: Callable[[Any], Any] = lambda agent: None,
    duration: float = 1.0,
    change: Any = None,
    rates: Mapping[str, Any] = {},
    **curiosity: Any,
) -> AgentTraining:
    """Train one rollout; the target network outputs inputs["fixed"], the predictor ["predicted"].

    Args:
        on_step: called with the algorithm before each step of the predictor's optimiser.
        duration: of a step, in seconds.
        rates: the learning rate of the policy, by its keyword.
        curiosity: configuration of random network distillation.
    """

    def prepare_agent(agent: Any) -> None:
        make_output_constant(agent.rnd.target, inputs["fixed"])
        make_output_constant(agent.rnd.predictor, inputs["predicted"])
        compat.find_curiosity_optimizer(agent).register_step_pre_hook(lambda *_: on_step(agent))

    return train_and_record(
        Vectorised(Scripted(rewards=0.0), step_dt=duration),
        1,
        steps=2,
        prepare=prepare_agent,
        change=change,
        rnd_cfg={
            "weight": 1.0,
            "num_outputs": len(inputs["fixed"]),
            **compat.SMALL_CURIOSITY,
            **curiosity,
        },
        **rates,
    )


def _measure_curiosity_reward(inputs: Inputs, **settings: Any) -> np.ndarray:
    rewards: list[float] = []
    _train_with_constant_outputs(
        inputs, change=lambda storage: rewards.append(storage.rewards[0].item()), **settings
    )
    return np.array(rewards)


def _measure_reward_weight(inputs: Inputs) -> np.ndarray:
    weighed = _measure_curiosity_reward(
        inputs, duration=float(inputs["duration"]), weight=float(inputs["weight"])
    )
    return weighed / _measure_curiosity_reward(inputs)


def _measure_predictor_inputs_and_reward(inputs: Inputs, factor: float) -> np.ndarray:
    """Return the predictor's input for the last reward, that for the last loss, and the reward."""
    numbers: list[float] = []
    rewards: list[float] = []

    def prepare_agent(agent: Any) -> None:
        make_output_constant(agent.rnd.target, factor * inputs["error"])
        make_output_constant(agent.rnd.predictor, 0.0)
        freeze_predictor(agent)
        first = list_linear_layers(agent.rnd.predictor)[0]
        first.register_forward_pre_hook(lambda _, states: numbers.append(states[0][0, 0].item()))

    states = factor * inputs["states"]
    # of one environment alone advantages have no deviation
    environments = [
        Scripted(observations=states[:-1], next_observations=states[1:], rewards=0.0)
        for _ in range(2)
    ]
    train_and_record(
        Vectorised(*environments),
        len(states) - 1,
        steps=1,
        prepare=prepare_agent,
        change=lambda storage: rewards.append(storage.rewards[0, 0].item()),
        learning_rate=FROZEN,
        rnd_cfg={
            "weight": 1.0,
            "num_outputs": 1,
            **compat.SMALL_CURIOSITY,
            **compat.NORMALISED_CURIOSITY,
        },
    )
    return np.array([*numbers[-2:], rewards[-1]])


def _measure_ratios_under_scaled_states(inputs: Inputs) -> np.ndarray:
    return _measure_predictor_inputs_and_reward(
        inputs, float(inputs["factor"])
    ) / _measure_predictor_inputs_and_reward(inputs, 1.0)


def _measure_predictor_loss(inputs: Inputs) -> np.ndarray:
    with record_differentiated_losses() as losses:
        _train_with_constant_outputs(inputs)
    # that of the policy comes first
    return np.array(losses[1:])


def _measure_gradient_clip(inputs: Inputs) -> np.ndarray:
    far = 1e3 * float(inputs["raw_norm"])
    norms: list[float] = []
    _train_with_constant_outputs(
        {"fixed": [far], "predicted": [0.0]},
        lambda agent: norms.append(compute_gradient_norm(compat.find_curiosity_optimizer(agent))),
    )
    return np.minimum(norms, float(inputs["cap"]))


def _measure_policy_and_predictor_rates(inputs: Inputs) -> np.ndarray:
    rates: list[float] = []

    def note_learning_rates(agent: Any) -> None:
        for optimizer in (agent.optimizer, compat.find_curiosity_optimizer(agent)):
            rates.append(float(optimizer.param_groups[0]["lr"]))

    _train_with_constant_outputs(
        {"fixed": [1.0], "predicted": [0.0]},
        note_learning_rates,
        rates={"learning_rate": float(inputs["learning_rate"])},
        learning_rate=float(inputs["predictor_rate"]),
    )
    return np.array(rates)


PROBES: Mapping[str, Probe] = {
    "curiosity.reward": _measure_curiosity_reward,
    "curiosity.weight": _measure_reward_weight,
    "curiosity.normalisation": _measure_ratios_under_scaled_states,
    "curiosity.loss": _measure_predictor_loss,
    "curiosity.gradient_clip": _measure_gradient_clip,
    "curiosity.learning_rate": _measure_policy_and_predictor_rates,
}

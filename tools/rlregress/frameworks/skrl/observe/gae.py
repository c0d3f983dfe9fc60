"""Probes of advantages, as PPO's update computes them from a rollout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.skrl.agents import AgentSetup, Layers, make_scaler_settings
from rlregress.frameworks.skrl.observe.helpers.ppo_trainings import train_and_record
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import find_last_linear_layer
from rlregress.probing.scripted import Scripted, make_script_of_segment

#: values are scaled, with statistics of so many rows that a rollout does not move them
_MEAN, _DEVIATION, _ROWS = 1.0, 2.0, 1e12
_SCALED = make_scaler_settings("value", clip_threshold=float("inf"))


def _make_value_linear(training: AgentSetup, slope: float, offset: float = 0.0) -> None:
    """Set the value to slope * observation + offset, in the units of rewards."""
    layer = find_last_linear_layer(training.models["value"])
    fill_parameters([layer.weight], slope / _DEVIATION)
    fill_parameters([layer.bias], (offset - _MEAN) / _DEVIATION)


def _set_value_to_observation(training: AgentSetup) -> None:
    """Set the value of each observation to the observation itself."""
    scaler = training.agent.checkpoint_modules["value_preprocessor"]
    scaler.running_mean[:], scaler.running_variance[:] = _MEAN, _DEVIATION**2
    scaler.current_count.fill_(_ROWS)
    _make_value_linear(training, 1.0)


def _compute_advantages_and_targets(
    inputs: Inputs, prepare: Any = _set_value_to_observation, **settings: Any
) -> list[torch.Tensor]:
    """Return [advantages, value targets] of a rollout, [T] each.

    The value network outputs scaled values, which have to be scaled back wherever they are added to
    rewards.
    """
    advantages: list[torch.Tensor] = []
    steps = len(inputs["rewards"])

    def copy_advantages_and_returns(tensors: Any) -> None:
        returns, values = (
            _MEAN + _DEVIATION * tensors[name][:, 0, 0].clone().double()
            for name in ("returns", "values")
        )
        # the advantages that are stored have been normalised
        advantages[:] = [returns - values, returns]

    train_and_record(
        steps,
        Scripted(**make_script_of_segment(inputs)),
        rollouts=steps,
        layers=Layers(sizes=()),
        prepare=prepare,
        change=copy_advantages_and_returns,
        learning_rate=0.0,
        discount_factor=float(inputs["discount"]),
        gae_lambda=float(inputs.get("trace", 0.0)),
        **_SCALED,
        **settings,
    )
    return advantages


def _measure_advantages(inputs: Inputs, **settings: Any) -> np.ndarray:
    return _compute_advantages_and_targets(inputs, **settings)[0].numpy()


def _measure_advantage_after_value_change(inputs: Inputs) -> np.ndarray:
    def prepare_agent(training: AgentSetup) -> None:
        _set_value_to_observation(training)
        value = training.models["value"]
        # an update puts its models in the mode of training first
        mode = value.train

        def change_values_and_set_mode(enabled: bool = True) -> Any:
            if enabled:
                _make_value_linear(training, 0.0, inputs["next_value"])
            return mode(enabled)

        value.train = change_values_and_set_mode

    step = {"values": [0.0, inputs["value"]], "next_values": [inputs["value"]] * 2}
    script = {"rewards": [0.0, inputs["reward"]], "terminated": [0.0, 1.0]}
    return _compute_advantages_and_targets({**inputs, **step, **script}, prepare_agent)[0].numpy()[
        -1:
    ]


PROBES: Mapping[str, Probe] = {
    "gae.truncation": _measure_advantages,
    "gae.truncation.asked": lambda i: _measure_advantages(i, time_limit_bootstrap=True),
    "gae.value_target": lambda i: _compute_advantages_and_targets(i)[1].numpy(),
    "gae.lambda_zero": lambda i: [0.0, *_measure_advantages(i)],
    "gae.stored_values": _measure_advantage_after_value_change,
}
_ONE_ESTIMATOR = "estimates advantages by one function, without such a switch"
ABSENT: Mapping[str, str] = {"gae.reset_env": _ONE_ESTIMATOR, "gae.kernel": _ONE_ESTIMATOR}

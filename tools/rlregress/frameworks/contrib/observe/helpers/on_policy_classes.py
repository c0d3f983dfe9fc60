"""Descriptions of MaskablePPO, RecurrentPPO and TRPO for the probes of PPO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sb3_contrib import TRPO, MaskablePPO, RecurrentPPO
from sb3_contrib.common.recurrent.type_aliases import RNNStates

from rlregress.frameworks.sb3.observe.helpers.on_policy import ProbedPPO
from rlregress.probing.driven import fill_parameters
from rlregress.probing.scripted import Scripted


class MaskedEnvironment(Scripted):
    """An environment with a constant mask of allowed actions."""

    def __init__(self, allowed: Sequence[float], **script: Any) -> None:
        super().__init__(discrete=len(allowed), **script)
        self._allowed = np.asarray(allowed, dtype=bool)

    def action_masks(self) -> np.ndarray:
        """Return whether each action is allowed, bool [actions]."""
        return self._allowed


class ProbedMaskablePPO(ProbedPPO):
    """MaskablePPO, with two discrete actions that are both allowed: it has no continuous policy."""

    algorithm_class = MaskablePPO

    def make_environment(self, **script: Any) -> Any:
        """Return an environment with two actions."""
        return MaskedEnvironment([1.0, 1.0], **script)


class ProbedRecurrentPPO(ProbedPPO):
    """RecurrentPPO, whose policy and value network have a memory that begins with zeros."""

    algorithm_class = RecurrentPPO
    small = {**ProbedPPO.small, "lstm_hidden_size": 16}
    #: of the value alone there can be no memory, and then a linear layer is in its place
    linear = {"net_arch": [], "enable_critic_lstm": False}

    def compute_deviation(self, agent: Any, observation: float) -> float:
        """Return the standard deviation of the action at the start of an episode."""
        law, _ = agent.policy.get_distribution(
            torch.tensor([[observation]]), _make_empty_memory(agent).pi, torch.ones(1)
        )
        return law.distribution.stddev.item()

    def set_value_to_observation(self, agent: Any) -> None:
        """Make the value of an observation equal the observation."""
        super().set_value_to_observation(agent)
        layer = agent.policy.critic
        fill_parameters(layer.parameters(), 0.0)
        fill_parameters([layer.weight[0, 0]], 1.0)


def _make_empty_memory(agent: Any) -> Any:
    zeros = torch.zeros(agent.policy.lstm_hidden_state_shape)
    return RNNStates((zeros, zeros), (zeros, zeros))


class ProbedTRPO(ProbedPPO):
    """TRPO, whose optimiser trains the value network alone."""

    algorithm_class = TRPO
    epochs = "n_critic_updates"
    without = ("ent_coef", "vf_coef", "clip_range_vf")


#: name of the class -> how probes use it
PROBED_ALGORITHMS: Mapping[str, ProbedPPO] = {
    "MaskablePPO": ProbedMaskablePPO(),
    "RecurrentPPO": ProbedRecurrentPPO(),
    "TRPO": ProbedTRPO(),
}

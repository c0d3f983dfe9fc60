"""Models that skrl makes from settings, as its runner does: skrl has no other models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from skrl.models.torch import Model
from skrl.utils.model_instantiators.torch import deterministic_model, gaussian_model

from rlregress.frameworks.skrl import compat
from rlregress.probing.interface import Unsupported
from rlregress.probing.scripted import Scripted

_OBSERVATIONS = compat.OBSERVATIONS.upper()


@dataclass(frozen=True)
class Settings:
    """Hidden layers in the words of skrl's settings, and the sizes of observations and actions."""

    sizes: Sequence[int]
    activation: str
    observations: int
    dimensions: int

    def _instantiate_model(self, make_model: Callable[..., Any], inputs: str, output: str) -> Any:
        if not hasattr(Model, "init_state_dict"):
            raise Unsupported("the instantiators of this version take other settings")
        bounds = torch.ones(self.dimensions).numpy()
        environment = Scripted(-bounds, bounds, observation_dimensions=self.observations)
        layers = {"layers": list(self.sizes), "activations": self.activation}
        model = make_model(
            observation_space=environment.observation_space,
            action_space=environment.action_space,
            device="cpu",
            network=[{"name": "net", "input": inputs, **layers}],
            output=output,
        )
        model.init_state_dict(role="")
        return model

    def make_policy(self, stochastic: bool) -> Any:
        """Return a Gaussian policy, or a deterministic one."""
        make = gaussian_model if stochastic else deterministic_model
        return self._instantiate_model(make, _OBSERVATIONS, "ACTIONS")

    def make_value_model(self, for_actions: bool = True) -> Any:
        """Return a model of values, of observations and actions or of observations."""
        both = f"concatenate([{_OBSERVATIONS}, ACTIONS])"
        return self._instantiate_model(
            deterministic_model, both if for_actions else _OBSERVATIONS, "ONE"
        )


def make_act_function(model: Any, actions: Any = None) -> Callable[[torch.Tensor], Any]:
    """Return a function of observations that returns the result of a model's ``act``.

    It acts or, if ``actions`` are given, returns their log-probabilities.
    """
    action_inputs = {} if actions is None else {"taken_actions": actions}
    return lambda observations: model.act(
        {compat.OBSERVATIONS: observations, **action_inputs}, role="policy"
    )

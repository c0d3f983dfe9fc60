"""Networks and actors."""

from __future__ import annotations

from typing import Any, Dict

import torch
from torch import nn

from rlregress.frameworks.torchrl.small import (
    OBSERVATIONS,
    answers,
    at,
    entries,
    scored,
    steps,
    value,
    with_gradients,
)
from rlregress.frameworks.torchrl.versions import library

_CHOICES = 4


def _perceptron(make_env: Any, seed: int) -> Dict[str, Any]:
    """A perceptron without a word about its hidden layers."""
    kind = library("torchrl.modules", "MLP")

    def parameters() -> Any:
        made = kind(in_features=3, out_features=2)
        tensors = {name: item.detach() for name, item in made.named_parameters()}
        return {**tensors, "output": made(torch.ones(2, 3)).detach()}

    return answers(seed, default=parameters)


def _outputs(actor: Any) -> Any:
    with torch.no_grad():
        return entries(actor(steps(5).select("observation")))


def _network(outputs: int = _CHOICES) -> Any:
    return nn.Linear(OBSERVATIONS, outputs)


def _specification_as_space(make_env: Any, seed: int) -> Dict[str, Any]:
    """A specification in place of the name of a space."""
    from torchrl.modules import DistributionalQValueActor, QValueActor, QValueModule

    one_hot = library("torchrl.data", "OneHot", "OneHotDiscreteTensorSpec")
    hook = library("torchrl.modules.tensordict_module", "QValueHook")

    def module() -> Any:
        values = scored(5, action_value=torch.randn(5, _CHOICES)).select("action_value")
        return entries(QValueModule(action_space=one_hot(_CHOICES))(values))

    def hooked() -> Any:
        layer = _network()
        layer.register_forward_hook(hook(one_hot(_CHOICES)))
        return [item.detach() for item in layer(torch.randn(5, OBSERVATIONS))]

    def distributional() -> Any:
        layers = nn.Sequential(_network(3 * _CHOICES), nn.Unflatten(-1, (3, _CHOICES)))
        return _outputs(
            DistributionalQValueActor(
                layers, support=torch.linspace(-1.0, 1.0, 3), action_space=one_hot(_CHOICES)
            )
        )

    return answers(
        seed,
        module=module,
        hook=hooked,
        actor=lambda: _outputs(QValueActor(_network(), action_space=one_hot(_CHOICES))),
        distributional=distributional,
    )


def _shape_of_choices(make_env: Any, seed: int) -> Dict[str, Any]:
    """A specification with a last dimension that the choices do not have."""
    from torchrl.modules import QValueActor

    categorical = library("torchrl.data", "Categorical", "DiscreteTensorSpec")

    def act(*shape: int) -> Any:
        return _outputs(QValueActor(_network(), spec=categorical(_CHOICES, shape=shape)))

    return answers(seed, column=lambda: act(1), plain=act)


def _recurrent(make_env: Any, seed: int) -> Dict[str, Any]:
    """A recurrent actor in a loss, on trajectories of which one starts within the batch."""
    from tensordict.nn import NormalParamExtractor, TensorDictModule, TensorDictSequential
    from torchrl.modules import ProbabilisticActor

    recurrent = library("torchrl.modules", "GRUModule")
    normal = library("torchrl.modules", "IndependentNormal")

    def forward(name: str) -> Any:
        memory = recurrent(
            input_size=OBSERVATIONS,
            hidden_size=4,
            in_keys=["observation", "hidden", "is_init"],
            out_keys=["feature", ("next", "hidden")],
        )
        head = nn.Sequential(nn.Linear(4, 4), NormalParamExtractor())
        actor = ProbabilisticActor(
            TensorDictSequential(memory, TensorDictModule(head, ["feature"], ["loc", "scale"])),
            in_keys=["loc", "scale"],
            distribution_class=normal,
            return_log_prob=True,
        )
        shape = (2, 6)
        starts = at(shape, 0)
        starts[1, 3] = True
        batch = scored(*shape, hidden=torch.zeros(*shape, 1, 4), is_init=starts)
        return with_gradients(library("torchrl.objectives", name)(actor, value()), batch)

    return answers(seed, clip=lambda: forward("ClipPPOLoss"), a2c=lambda: forward("A2CLoss"))


PARTS = {
    "perceptron": _perceptron,
    "specification-as-space": _specification_as_space,
    "shape-of-choices": _shape_of_choices,
    "recurrent-actor": _recurrent,
}

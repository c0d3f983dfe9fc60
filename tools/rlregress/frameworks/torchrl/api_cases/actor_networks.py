"""Networks and actors."""

from __future__ import annotations

from typing import Any, Dict

import torch
from torch import nn

from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.network_factories import (
    OBSERVATIONS,
    answers,
    at,
    entries,
    scored,
    steps,
    value,
    with_gradients,
)

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


def _dueling(make_env: Any, seed: int) -> Dict[str, Any]:
    """Advantages and values from one body, of vectors and of images."""
    perceptron = library("torchrl.modules.models", "DuelingMlpDQNet")
    convolutions = library("torchrl.modules.models", "DuelingCnnDQNet")
    body = {"num_cells": [6], "out_features": 5}
    head = {"num_cells": 4, "depth": 1}
    images = {"num_cells": [3], "kernel_sizes": [3], "strides": [2], "depth": 1}
    return answers(
        seed,
        vectors=lambda: _passed(
            perceptron(_CHOICES, mlp_kwargs_feature=body, mlp_kwargs_output=head), OBSERVATIONS
        ),
        images=lambda: _passed(convolutions(_CHOICES, cnn_kwargs=images, mlp_kwargs=head), 2, 8, 8),
    )


def _passed(network: Any, *shape: int) -> Any:
    """What a network makes of five inputs, and the gradients of its parameters."""
    outputs = network(torch.randn(5, *shape))
    outputs.pow(2).sum().backward()
    moved = {f"gradient.{name}": item.grad for name, item in network.named_parameters()}
    return {"outputs": outputs.detach(), **moved}


def _layers(make_env: Any, seed: int) -> Dict[str, Any]:
    """Perceptrons and convolutions that normalise, drop out, and activate or squeeze at the end."""
    perceptron = library("torchrl.modules", "MLP")
    convolution = library("torchrl.modules", "ConvNet")
    wide = {"in_features": OBSERVATIONS, "out_features": 2, "num_cells": [4, 4]}
    deep = {"in_features": 2, "num_cells": [3, 3], "kernel_sizes": 3}

    def passed(kind: Any, shape: Any, **options: Any) -> Any:
        check_arguments(kind, options)
        return _passed(kind(**options), *shape)

    vector = (OBSERVATIONS,)
    normalise = {"norm_class": nn.LayerNorm, "norm_kwargs": {"normalized_shape": 4}}
    batches = {"norm_class": nn.BatchNorm2d, "norm_kwargs": {"num_features": 3}}
    rectified = {"activation_class": nn.LeakyReLU, "activation_kwargs": {"negative_slope": 0.3}}
    return answers(
        seed,
        normalised=lambda: passed(perceptron, vector, **wide, **normalise),
        dropped=lambda: passed(perceptron, vector, **wide, dropout=0.5),
        activated=lambda: passed(perceptron, vector, **wide, activate_last_layer=True),
        rectified=lambda: passed(perceptron, vector, **wide, **rectified),
        deep=lambda: passed(
            perceptron, vector, in_features=OBSERVATIONS, out_features=2, depth=2, num_cells=4
        ),
        convolved=lambda: passed(convolution, (2, 9, 9), **deep, strides=2, paddings=1),
        batches=lambda: passed(convolution, (2, 9, 9), **deep, **batches),
        squeezed=lambda: passed(
            convolution, (2, 5, 5), **deep, aggregator_class=None, squeeze_output=True
        ),
    )


def _joint_networks(make_env: Any, seed: int) -> Dict[str, Any]:
    """Networks of DDPG, and an actor and critics behind one body."""
    from tensordict.nn import TensorDictModule
    from torchrl.modules import ValueOperator

    actor = library("torchrl.modules", "DdpgMlpActor")
    critic = library("torchrl.modules", "DdpgMlpQNet")
    small = {"num_cells": [4], "depth": 1}

    def body() -> Any:
        return TensorDictModule(nn.Linear(OBSERVATIONS, 4), ["observation"], ["hidden"])

    def head() -> Any:
        return TensorDictModule(nn.Linear(4, 2), ["hidden"], ["action"])

    def together(name: str, values: Any) -> Any:
        made = library("torchrl.modules", name)(body(), head(), values)
        batch = steps(5).select("observation")
        parts = (made, made.get_policy_operator(), made.get_value_operator())
        with torch.no_grad():
            return {
                f"{k}.{key}": item
                for k, part in enumerate(parts)
                for key, item in entries(part(batch.clone())).items()
            }

    def ddpg() -> Any:
        acting = actor(2, mlp_net_kwargs=small)
        judging = critic(
            mlp_net_kwargs_net1={"out_features": 4}, mlp_net_kwargs_net2={"num_cells": [4]}
        )
        observation = torch.randn(5, OBSERVATIONS)
        with torch.no_grad():
            action = acting(observation)
            return [action, judging(observation, action)]

    return answers(
        seed,
        ddpg=ddpg,
        values=lambda: together(
            "ActorValueOperator", ValueOperator(nn.Linear(4, 1), in_keys=["hidden"])
        ),
    )


API_CASES = {
    "perceptron": _perceptron,
    "specification-as-space": _specification_as_space,
    "shape-of-choices": _shape_of_choices,
    "recurrent-actor": _recurrent,
    "dueling-networks": _dueling,
    "options-of-layers": _layers,
    "joint-networks": _joint_networks,
}

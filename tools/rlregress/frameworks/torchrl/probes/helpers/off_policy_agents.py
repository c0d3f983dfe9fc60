"""The agents that the programs of SAC and TD3 build: networks, losses, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.layers import (
    activation,
    architecture,
    initialisation,
    linear_layers,
    log_epsilon,
)
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.torchrl.api import TensorDict
from rlregress.frameworks.torchrl.probes.helpers import off_policy_programs, programs
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw
from rlregress.frameworks.torchrl.probes.helpers.scripted_environments import wrapped


def make_constant_q(parameters: Any, number: float) -> None:
    """Let stacked networks output ``number`` everywhere; only their last bias can move."""
    tensors = list(parameters.values(True, True))
    for tensor in tensors:
        tensor.data.zero_()
    # biases of a stack of two networks with one output are [2, 1], weights [2, 1, n]
    (last,) = [tensor for tensor in tensors if tuple(tensor.shape) == (2, 1)]
    last.data.fill_(float(number))


def _made(
    family: str, hidden: list[int], observations: int = 1, actions: int = 1, **more: Any
) -> Any:
    """Policy and Q network of a program, and its settings."""
    settings = off_policy_programs.settings("", hidden_sizes=hidden, **more)
    bound = np.ones(actions)
    environment = wrapped(Scripted(-bound, bound, observation_dimensions=observations))
    make = getattr(programs.load(family, "utils"), f"make_{family}_agent")
    model, exploring = make(settings, environment, environment, torch.device("cpu"))
    return settings, model, exploring


def loss(family: str, hidden: list[int], observations: int = 1) -> Any:
    """The loss of a program, of networks that it built."""
    settings, model, _ = _made(family, hidden, observations)
    return programs.load(family, "utils").make_loss_module(settings, model)[0]


def log_epsilons(loss: Any, actor: Any, critic: Any, *temperature: Any) -> list[float]:
    """Logarithm of the epsilon of each optimiser of a loss, in the order critic, actor, ...

    0.0 for one that does not hold just the parameters of its part.
    """
    found = [
        log_epsilon(critic, loss.qvalue_network_params.values(True, True)),
        log_epsilon(actor, loss.actor_network_params.values(True, True)),
    ]
    return [*found, *(log_epsilon(optimizer, [loss.log_alpha]) for optimizer in temperature)]


def exploring(family: str) -> tuple[Any, Any]:
    """The policy of a program, and the one that it collects with."""
    _, model, made = _made(family, [4])
    return model[0], made


def networks(family: str) -> Raw:
    """Widths of the hidden layers, activation, sharing, of what the program builds."""

    def probe(i: Inputs) -> np.ndarray:
        sizes, dimensions = [int(i["first"]), int(i["second"])], int(i["dimensions"])
        settings, model, _ = _made(
            family, sizes, dimensions, dimensions, activation=i["activation"]
        )
        made = programs.load(family, "utils").make_loss_module(settings, model)[0]
        actor, critic = model
        hidden = [
            [layer.out_features for layer in linear_layers(module)[:-1]]
            for module in (actor, critic)
        ]
        critics = len(next(iter(made.qvalue_network_params.values(True, True))))
        policy = {id(tensor) for tensor in actor.parameters()}
        shared = any(id(tensor) in policy for tensor in critic.parameters())
        received = activation(
            actor, lambda observations: actor(TensorDict({"observation": observations}, [1]))
        )
        return architecture(hidden, critics, received, shared)

    return probe


def critic_initialisation(i: Inputs) -> np.ndarray:
    """How the first Q network of SAC's program is initialised: spread, bias, conditioning."""
    parameters = loss("sac", [256, 256], int(i["observations"])).qvalue_network_params
    tensors = list(parameters.values(True, True))
    # the first of the two stacked networks
    weight, bias = (
        next(t for t in tensors if tuple(t.shape) == shape)[0]
        for shape in ((2, 256, 256), (2, 256))
    )
    return initialisation(weight, bias)


def gradient_clip(family: str) -> Raw:
    """One over the gradient norms that reach the optimisers, of Q networks and policy."""

    def probe(i: Inputs) -> np.ndarray:
        def enlarge(made: Any) -> None:
            (last,) = [
                tensor
                for tensor in made.qvalue_network_params.values(True, True)
                if tensor.dim() == 3 and tensor.shape[1] == 1
            ]
            last.data.fill_(float(i["factor"]))

        size = int(i["batch_size"])
        journal = off_policy_programs.run(
            family, size, with_loss=enlarge, frames_per_batch=size, utd_ratio=2 / size,
            # of 4 rectified units all may be 0, and with them the gradient
            batch_size=size, hidden_sizes=[64],
        )  # fmt: skip
        return journal.gradient_clip()

    return probe

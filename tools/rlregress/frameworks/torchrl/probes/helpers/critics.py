"""What the losses of SAC and TD3 do with their Q networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.torchrl.api import SoftUpdate, TensorDict
from rlregress.frameworks.torchrl.probes.helpers.known_networks import Pinned, fill, transitions

#: (inputs, numbers of the trained Q networks, maker of one for a number, options) -> loss module
MakeLoss = Callable[..., Any]


def critic_loss(loss: Any, batch: TensorDict) -> float:
    """The critic loss of a batch, which stays as it is."""
    return float(loss(batch.clone())["loss_qvalue"].detach())


def regression_target(loss: Any, batch: TensorDict) -> float:
    """What the critics regress towards, for a squared distance and equal transitions.

    As a function of a constant Q the critic loss is then a parabola; the target is where it is
    lowest, whatever its factor. It is found from three points.
    """
    networks = loss.num_qvalue_nets

    def at(number: float) -> float:
        fill(loss.qvalue_network_params, [number] * networks)
        return critic_loss(loss, batch)

    left, middle, right = at(-1.0), at(0.0), at(1.0)
    return (left - right) / (2.0 * (left + right - 2.0 * middle))


def _terminal(i: Inputs) -> TensorDict:
    return transitions(int(i["batch_size"]), i["reward"], terminated=True)


def of_terminations(
    make_loss: MakeLoss, i: Inputs, q_values: Sequence[float], **options: Any
) -> float:
    """The critic loss of terminations, with Q networks that return these values."""
    return critic_loss(make_loss(i, q_values, **options), _terminal(i))


def minimum(make_loss: MakeLoss, i: Inputs) -> list[float]:
    """The regression target of each pair of target Q networks."""
    loss = make_loss(i, [0.0, 0.0], loss_function="l2")
    targets = []
    for numbers in i["target_q"]:
        fill(loss.target_qvalue_network_params, numbers)
        targets.append(regression_target(loss, transitions(int(i["batch_size"]), i["reward"])))
    return targets


def bootstrap(make_loss: MakeLoss, i: Inputs) -> list[float]:
    """The regression target of each pair of flags."""
    loss = make_loss(i, [0.0, 0.0], loss_function="l2")
    fill(loss.target_qvalue_network_params, [i["target_q"]] * 2)
    return [
        regression_target(
            loss, transitions(int(i["batch_size"]), i["reward"], terminated, truncated)
        )
        for terminated, truncated in zip(i["terminated"], i["truncated"], strict=False)
    ]


def actor_loss(make_loss: MakeLoss, i: Inputs) -> list[float]:
    """The actor loss of each pair of Q networks."""
    batch, of_policy = transitions(int(i["batch_size"]), 0.0), partial(Pinned, of_policy=True)
    return [
        float(make_loss(i, numbers, of_policy)(batch.clone())["loss_actor"].detach())
        for numbers in i["q_values"]
    ]


def polyak(make_loss: MakeLoss, i: Inputs) -> list[float]:
    """A parameter of a target critic after a SoftUpdate: see ``moved``."""
    loss = make_loss(i, [0.0, 0.0])
    return moved(loss, SoftUpdate(loss, tau=i["tau"]), i)


def moved(loss: Any, updater: Any, i: Inputs) -> list[float]:
    """A parameter of each target network after one ``updater.step()``."""
    for before, numbers in (("", i["source"]), ("target_", i["target"])):
        fill(getattr(loss, f"{before}qvalue_network_params"), numbers[:2])
        if len(numbers) > 2:
            fill(getattr(loss, f"{before}actor_network_params"), numbers[2:])
    updater.step()
    critics = next(iter(loss.target_qvalue_network_params.values(True, True)))
    found = critics.reshape(2, -1)[:, 0].tolist()
    if len(i["source"]) > 2:
        policy = next(iter(loss.target_actor_network_params.values(True, True)))
        found.append(float(policy.reshape(-1)[0]))
    return found

"""The losses of SAC and TD3, of constant networks: what they and their targets come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.isolation import shifted
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.torchrl.api import (
    SACLoss,
    TanhModule,
    TD3Loss,
    TensorDictModule,
    TensorDictSequential,
)
from rlregress.frameworks.torchrl.compat import next_values, sac_loss, td3_loss
from rlregress.frameworks.torchrl.probes.helpers import critics, programs, tiny_trainers
from rlregress.frameworks.torchrl.probes.helpers.known_networks import (
    Constant,
    Pinned,
    box,
    fill,
    q_network,
    reporting_policy,
    transitions,
)


def sac(
    i: Inputs, q_values: Sequence[float], network: Callable[[float], Any] = Pinned, **options: Any
) -> SACLoss:
    """The loss of SAC; Q network k outputs ``q_values[k]`` where it has to be evaluated."""
    loss = sac_loss(
        reporting_policy(i.get("log_prob", 0.0)),
        [q_network(network(q)) for q in q_values],
        num_qvalue_nets=len(q_values),
        alpha_init=i.get("temperature", 1.0),
        **options,
    )
    loss.make_value_estimator(gamma=i.get("discount", 0.99))
    return loss


def _actor(*action: float) -> TensorDictModule:
    return TensorDictModule(Constant(*action), in_keys=["observation"], out_keys=["action"])


def td3(
    i: Inputs, q_values: Sequence[float], network: Callable[[float], Any] = Pinned, **options: Any
) -> TD3Loss:
    """The loss of TD3; Q network k outputs ``q_values[k]`` where it has to be evaluated."""
    loss = td3_loss(
        _actor(0.0),
        [q_network(network(q)) for q in q_values],
        action_spec=box(-1.0, 1.0),
        # they are evaluated at actions without noise
        policy_noise=0.0,
        num_qvalue_nets=len(q_values),
        **options,
    )
    loss.make_value_estimator(gamma=i.get("discount", 0.99))
    return loss


def collected_bootstrap(family: str, i: Inputs) -> list[float]:
    """The regression target of what a trainer has collected, stored and sampled."""
    targets = []
    options = {"alpha_init": i["temperature"]} if family == "sac" else {}
    train = {"sac": tiny_trainers.sac, "td3": tiny_trainers.td3}[family]
    for terminated, truncated in zip(i["terminated"], i["truncated"], strict=False):
        environment = Scripted(
            rewards=[i["reward"]], terminated=[terminated], truncated=[truncated]
        )
        loss, actor = tiny_trainers.off_policy_loss(
            family, environment, loss_function="l2", **options
        )
        loss.make_value_estimator(gamma=i["discount"])
        trainer = train(environment, loss, actor, frames=int(i["batch_size"]))
        stored = trainer.replay_buffer.sample().apply(
            lambda x: x.double() if x.is_floating_point() else x
        )
        # SAC's policy has to report the log-probability that is asked for
        fixed = family == "sac"
        loss = sac(i, [0.0, 0.0], Constant, loss_function="l2") if fixed else loss.to(torch.float64)
        fill(loss.target_qvalue_network_params, [i["target_q"]] * 2)
        targets.append(critics.regression_target(loss, stored))
    return targets


def sac_program_polyak(i: Inputs) -> list[float]:
    """A parameter of a target critic after the update of SAC's program: see critics.moved."""
    make_loss_module = programs.load("sac", "utils").make_loss_module
    settings = programs.Settings(
        optim=programs.Settings(
            loss_function="l2", alpha_init=1.0, gamma=0.99, target_update_polyak=1.0 - i["tau"]
        )
    )
    actor_and_critic = [reporting_policy(0.0), q_network(Constant(0.0))]
    loss, updater = make_loss_module(settings, actor_and_critic)
    return critics.moved(loss, updater, i)


def td3_program_polyak(i: Inputs) -> list[float]:
    """A parameter of a target critic after the update of TD3's program: see critics.moved."""
    make_loss_module = programs.load("td3", "utils").make_loss_module
    settings = programs.Settings(
        optim=programs.Settings(
            loss_function="l2", policy_noise=0.2, noise_clip=0.5, gamma=0.99,
            target_update_polyak=1.0 - i["tau"],
        )
    )  # fmt: skip
    squash = TanhModule(in_keys=["param"], out_keys=["action"], spec=box(-1.0, 1.0))
    layer = TensorDictModule(Constant(0.0), in_keys=["observation"], out_keys=["param"])
    model = [TensorDictSequential(layer, squash), q_network(Constant(0.0))]
    loss, updater = make_loss_module(settings, model)
    return critics.moved(loss, updater, i)


class _OneAction(nn.Module):
    """A Q network whose value is one dimension of the action that it receives."""

    def __init__(self, dimension: int, dimensions: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(dimensions, dtype=torch.float64)[dimension])

    def forward(self, observation: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return (action * self.weight).sum(-1, keepdim=True)


def smoothed_actions(i: Inputs, **options: Any) -> np.ndarray:
    """The actions that the target critics receive, [samples, dimensions]."""
    low, high = np.atleast_1d(i["low"]), np.atleast_1d(i["high"])
    action = (low + high) / 2 + (high - low) / 2 * i["squashed"]
    actions = []
    for dimension in range(len(low)):
        loss = td3_loss(
            _actor(*action),
            [q_network(_OneAction(dimension, len(low))) for _ in range(2)],
            action_spec=box(low, high),
            **options,
        )
        torch.manual_seed(shifted(int(i["seed"])))
        batch = transitions(int(i["samples"]), 0.0, action_dimensions=len(low))
        actions.append(next_values(loss, batch).numpy())
    return np.stack(actions, axis=1)

"""DQN and DDPG of TorchRL, which no cell trains: put together here from its own parts.

As in ``training``: the loop, the losses, the replay buffer, the exploration and the target updates
are the framework's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    MLP,
    Collector,
    ConvNet,
    DDPGLoss,
    DDPGTrainer,
    DQNLoss,
    DQNTrainer,
    EGreedyModule,
    HardUpdate,
    LazyTensorStorage,
    QValueActor,
    SoftUpdate,
    TanhModule,
    TensorDict,
    TensorDictModule,
    TensorDictReplayBuffer,
    TensorDictSequential,
    ValueOperator,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import (
    add_gaussian_noise,
    construct_with_newest_keywords,
    find_action_spec,
    find_deterministic_type,
    make_silent_trainer,
)
from rlregress.probing.heads import Heads, call_prepare_with_heads
from rlregress.probing.layers import find_last_linear_layer


@dataclass(frozen=True)
class Parts:
    """Parts of a trainer.

    Attributes:
        kind: of trainer.
        acting: the policy, with its exploration.
        updater: of the target networks.
        options: of the trainer alone.
    """

    kind: Any
    acting: Any
    loss: Any
    updater: Any
    options: Mapping[str, Any]


class _Scaled(nn.Module):
    """Pictures of bytes as numbers from 0 to 1."""

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return pictures.float() / 255.0


def _make_network(settings: Mapping[str, Any], shape: tuple[int, ...], outputs: int) -> nn.Module:
    if len(shape) == 3:
        # Mnih et al. 2015, as the other frameworks have it
        features = ConvNet(
            num_cells=[32, 64, 64],
            kernel_sizes=[8, 4, 3],
            strides=[4, 2, 1],
            activation_class=nn.ReLU,
        )
        flat = features(torch.zeros(shape)).shape[-1]
        return nn.Sequential(
            _Scaled(),
            features,
            MLP(in_features=flat, out_features=outputs, num_cells=[512], activation_class=nn.ReLU),
        )
    return make_multilayer_perceptron(settings, shape[-1], outputs)


def make_multilayer_perceptron(
    settings: Mapping[str, Any], inputs: int, outputs: int, activation: Any = nn.ReLU
) -> Any:
    """Return a multilayer perceptron of the hidden sizes that are given."""
    return MLP(
        in_features=inputs,
        out_features=outputs,
        num_cells=list(settings["hidden_sizes"]),
        activation_class=activation,
    )


def make_buffer(settings: Mapping[str, Any], kind: Any = TensorDictReplayBuffer) -> Any:
    """Return a replay buffer of class ``kind``."""
    return kind(
        storage=LazyTensorStorage(settings["replay_size"]), batch_size=settings["minibatch_size"]
    )


def _make_dqn(request: Any, environment: Any, settings: Mapping[str, Any]) -> Parts:
    spec = find_action_spec(environment)
    shape = environment.observation_spec["observation"].shape
    network = _make_network(settings, tuple(shape), spec.shape[-1])
    head = find_last_linear_layer(network)
    # the target network is a copy that the loss has yet to make
    call_prepare_with_heads(request, lambda: Heads(head, values=[head]))
    actor = QValueActor(network, in_keys=["observation"], spec=spec)
    greedy = EGreedyModule(
        spec=spec,
        eps_init=1.0,
        eps_end=settings["exploration_final"],
        annealing_num_steps=settings["exploration_steps"],
    )
    loss = DQNLoss(actor, action_space=spec)
    # counted in updates
    updates = settings["target_update_interval"] * settings["updates_per_collection"]
    interval = max(updates // settings["steps_per_collection"], 1)
    updater = HardUpdate(loss, value_network_update_interval=interval)
    acting = TensorDictSequential(actor, greedy)
    return Parts(DQNTrainer, acting, loss, updater, {"greedy_module": greedy})


def _make_ddpg(request: Any, environment: Any, settings: Mapping[str, Any]) -> Parts:
    spec = find_action_spec(environment)
    inputs = environment.observation_spec["observation"].shape[-1]
    network = make_multilayer_perceptron(settings, inputs, spec.shape[-1])
    parts = (
        TensorDictModule(network, in_keys=["observation"], out_keys=["param"]),
        TanhModule(in_keys=["param"], out_keys=["action"], spec=spec),
    )
    actor = TensorDictSequential(*parts)
    critic = ValueOperator(
        make_multilayer_perceptron(settings, inputs + spec.shape[-1], 1),
        in_keys=["observation", "action"],
    )
    call_prepare_with_heads(
        request,
        lambda: Heads(find_last_linear_layer(network), values=[find_last_linear_layer(critic)]),
    )
    _, noise = add_gaussian_noise(
        actor, spec, sigma_init=1.0, sigma_end=1.0, std=settings["exploration_noise"]
    )
    loss = DDPGLoss(actor, critic)
    updater = SoftUpdate(loss, tau=settings["polyak_coefficient"])
    # in a row: the trainer finds no weights in a policy that stands within another
    return Parts(DDPGTrainer, TensorDictSequential(*parts, noise), loss, updater, {})


_PARTS = {"dqn": _make_dqn, "ddpg": _make_ddpg}


def make_parts_of_algorithm(request: Any, environment: Any, settings: Mapping[str, Any]) -> Parts:
    """Return networks, loss and exploration of the algorithm of a request.

    Raises:
        Unsupported: the installed version has no such trainer.
    """
    parts = _PARTS[request.algorithm](request, environment, settings)
    parts.loss.make_value_estimator(gamma=settings["discount"])
    return parts


def make_trainer_of_parts(
    request: Any,
    environment: Any,
    settings: Mapping[str, Any],
    parts: Parts,
    buffer: Any = TensorDictReplayBuffer,
    **options: Any,
) -> Any:
    """Return the framework's trainer of these parts.

    Args:
        buffer: class of the replay buffer.
        options: further ones of the trainer.
    """
    collector = construct_with_newest_keywords(
        Collector,
        environment,
        parts.acting,
        frames_per_batch=settings["steps_per_collection"],
        total_frames=request.total_steps,
        init_random_frames=settings["learning_starts"],
    )
    return make_silent_trainer(
        parts.kind,
        collector,
        parts.loss,
        request.total_steps,
        optim_steps_per_batch=settings["updates_per_collection"],
        optimizer=torch.optim.Adam(parts.loss.parameters(), lr=settings["learning_rate"]),
        replay_buffer=make_buffer(settings, buffer),
        target_net_updater=parts.updater,
        **parts.options,
        **options,
    )


def is_of_dqn_or_ddpg(loss: Any) -> bool:
    """Return whether a loss was made here: it has one network of action values."""
    return hasattr(loss, "value_network_params") and not hasattr(loss, "qvalue_network_params")


def _compute_actions(loss: Any, observations: np.ndarray) -> Any:
    tensor = torch.as_tensor(np.asarray(observations))
    if tensor.dtype is torch.float64:
        tensor = tensor.float()
    batch = TensorDict({"observation": tensor}, len(tensor))
    name = "actor_network" if hasattr(loss, "actor_network") else "value_network"
    network = getattr(loss, name)
    with getattr(loss, f"{name}_params").to_module(network):
        return network(batch)


def make_policy_function(loss: Any) -> Any:
    """Return a function of observations: the greedy or deterministic actions."""

    def choose_actions(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad(), set_exploration_type(find_deterministic_type()):
            actions = _compute_actions(loss, observations)["action"]
        # one of several is a one in its place
        one_of_several = not hasattr(loss, "actor_network")
        return actions.to(torch.int64).argmax(-1).numpy() if one_of_several else actions.numpy()

    return choose_actions


def make_value_function(loss: Any) -> Any:
    """Return a function of observations: the value of the policy's actions there."""

    def estimate_values(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad(), set_exploration_type(find_deterministic_type()):
            acted = _compute_actions(loss, observations)
            if not hasattr(loss, "actor_network"):
                return acted["chosen_action_value"].numpy().reshape(-1)
            with loss.value_network_params.to_module(loss.value_network):
                return loss.value_network(acted)["state_action_value"].numpy().reshape(-1)

    return estimate_values

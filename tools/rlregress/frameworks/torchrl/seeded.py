"""DQN and DDPG of TorchRL, every source of chance with a seed of its own."""

from __future__ import annotations

import warnings
from typing import Any, Mapping, Tuple

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.base import Trained
from rlregress.frameworks.heads import Heads, last_linear, prepare
from rlregress.frameworks.isolation import isolated
from rlregress.frameworks.seeded import (
    SeededTraining,
    Stream,
    arrays,
    from_stream,
    seed_everything,
)
from rlregress.frameworks.torchrl.api import (
    MLP,
    Collector,
    ConvNet,
    DDPGLoss,
    DDPGTrainer,
    DQNLoss,
    DQNTrainer,
    EGreedyModule,
    GymWrapper,
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
from rlregress.frameworks.torchrl.training import single_precision
from rlregress.frameworks.torchrl.versions import (
    action_spec,
    deterministic,
    made,
    with_gaussian_noise,
)

#: source of chance -> what it is drawn from, and what the framework lets one do about it
SOURCES = {
    "environment": "the environment's own generator, seeded by EnvBase.set_seed",
    "exploration": (
        "torch's global generator (EGreedyModule, and the collector's first random actions)"
    ),
    "initialisation": "torch's global generator, when the networks are made",
    "sampling": (
        "torch's global generator too (RandomSampler): one seed sets both, and what one draws "
        "moves the other; apart here by a subclass of the replay buffer"
    ),
}


class _Scaled(nn.Module):
    """Pictures of bytes as numbers from 0 to 1."""

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return pictures.float() / 255.0


def _network(given: Mapping[str, Any], shape: Tuple[int, ...], outputs: int) -> nn.Module:
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
            MLP(
                in_features=flat,
                out_features=outputs,
                num_cells=[512],
                activation_class=nn.ReLU,
            ),
        )
    return _mlp(given, shape[-1], outputs)


def _mlp(given: Mapping[str, Any], inputs: int, outputs: int) -> Any:
    return MLP(
        in_features=inputs,
        out_features=outputs,
        num_cells=list(given["hidden_sizes"]),
        activation_class=nn.ReLU,
    )


def _dqn(request: SeededTraining, environment: Any) -> Tuple[Any, ...]:
    given, spec = request.hyperparameters, action_spec(environment)
    shape = environment.observation_spec["observation"].shape
    network = _network(given, tuple(shape), spec.shape[-1])
    prepare(request, lambda: Heads(last_linear(network)))
    actor = QValueActor(network, in_keys=["observation"], spec=spec)
    greedy = EGreedyModule(
        spec=spec,
        eps_init=1.0,
        eps_end=given["exploration_final"],
        annealing_num_steps=given["exploration_steps"],
    )
    loss = DQNLoss(actor, action_space=spec)
    # counted in updates
    updates_each = given["steps_per_collection"] // given["updates_per_collection"]
    interval = max(given["target_update_interval"] // updates_each, 1)
    updater = HardUpdate(loss, value_network_update_interval=interval)
    return DQNTrainer, TensorDictSequential(actor, greedy), loss, updater, {"greedy_module": greedy}


def _ddpg(request: SeededTraining, environment: Any) -> Tuple[Any, ...]:
    given, spec = request.hyperparameters, action_spec(environment)
    inputs = environment.observation_spec["observation"].shape[-1]
    network = _mlp(given, inputs, spec.shape[-1])
    prepare(request, lambda: Heads(last_linear(network)))
    parts = (
        TensorDictModule(network, in_keys=["observation"], out_keys=["param"]),
        TanhModule(in_keys=["param"], out_keys=["action"], spec=spec),
    )
    actor = TensorDictSequential(*parts)
    critic = ValueOperator(
        _mlp(given, inputs + spec.shape[-1], 1), in_keys=["observation", "action"]
    )
    _, noise = with_gaussian_noise(
        actor, spec, sigma_init=1.0, sigma_end=1.0, std=given["exploration_noise"]
    )
    loss = DDPGLoss(actor, critic)
    updater = SoftUpdate(loss, tau=given["polyak_coefficient"])
    # in a row: the trainer finds no weights in a policy that stands within another
    return DDPGTrainer, TensorDictSequential(*parts, noise), loss, updater, {}


_PARTS = {"dqn": _dqn, "ddpg": _ddpg}


def _acted(loss: Any, observations: np.ndarray) -> Any:
    tensor = torch.as_tensor(np.asarray(observations))
    if tensor.dtype is torch.float64:
        tensor = tensor.float()
    batch = TensorDict({"observation": tensor}, len(tensor))
    name = "value_network" if hasattr(loss, "target_value_network_params") else "actor_network"
    if hasattr(loss, "actor_network"):
        name = "actor_network"
    network = getattr(loss, name)
    with getattr(loss, f"{name}_params").to_module(network):
        return network(batch)


def _trained(loss: Any, steps: int) -> Trained:
    def policy(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad(), set_exploration_type(deterministic()):
            actions = _acted(loss, observations)["action"]
        # one of several is a one in its place
        one_of_several = not hasattr(loss, "actor_network")
        return actions.to(torch.int64).argmax(-1).numpy() if one_of_several else actions.numpy()

    def value(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad(), set_exploration_type(deterministic()):
            acted = _acted(loss, observations)
            if not hasattr(loss, "actor_network"):
                return acted["chosen_action_value"].numpy().reshape(-1)
            with loss.value_network_params.to_module(loss.value_network):
                return loss.value_network(acted)["state_action_value"].numpy().reshape(-1)

    return Trained(policy, value, arrays(loss.state_dict()), steps)


def train_seeded(request: SeededTraining) -> Trained:
    """Train with ``DQNTrainer`` or ``DDPGTrainer``.

    Raises:
        NotOffered: the installed version has no such trainer.
    """
    given, seeds = request.hyperparameters, request.seeds
    environment = single_precision(GymWrapper(request.make_env(False), device="cpu"))
    look = request.watch()
    with isolated(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*experimental/prototype feature.*")
        with Stream(seeds.initialisation).drawn():
            kind, acting, loss, updater, options = _PARTS[request.algorithm](request, environment)
        loss.make_value_estimator(gamma=given["discount"])
        seed_everything(seeds.exploration)
        environment.set_seed(seeds.environment)
        buffer = from_stream(TensorDictReplayBuffer, Stream(seeds.sampling))
        trainer = made(
            kind,
            collector=made(
                Collector,
                environment,
                acting,
                frames_per_batch=given["steps_per_collection"],
                total_frames=request.total_steps,
                init_random_frames=given["learning_starts"],
            ),
            total_frames=request.total_steps,
            frame_skip=1,
            optim_steps_per_batch=given["updates_per_collection"],
            loss_module=loss,
            optimizer=torch.optim.Adam(loss.parameters(), lr=given["learning_rate"]),
            replay_buffer=buffer(
                storage=LazyTensorStorage(given["replay_size"]), batch_size=given["minibatch_size"]
            ),
            target_net_updater=updater,
            progress_bar=False,
            enable_logging=False,
            auto_log_optim_steps=False,
            **options,
        )

        def after_batch() -> None:
            done = trainer.collected_frames
            look(done, lambda: _trained(loss, done))

        trainer.register_op("post_steps", after_batch)
        trainer.train()
    return _trained(loss, trainer.collected_frames)

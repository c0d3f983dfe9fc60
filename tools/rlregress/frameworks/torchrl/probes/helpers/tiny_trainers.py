"""TorchRL's trainers on tiny rollouts, with a real collector and a real replay buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.torchrl.api import (
    ClipPPOLoss,
    Collector,
    LazyTensorStorage,
    PPOTrainer,
    SACLoss,
    SACTrainer,
    SamplerWithoutReplacement,
    SoftUpdate,
    TanhNormal,
    TD3Loss,
    TD3OptimizationStepper,
    TD3Trainer,
    TensorDictModule,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.compat import (
    action_spec,
    made,
    ppo_loss,
    sac_loss,
    silent_trainer,
    td3_loss,
)
from rlregress.frameworks.torchrl.probes.helpers.known_networks import (
    Constant,
    Numbers,
    policy,
    q_network,
)
from rlregress.frameworks.torchrl.probes.helpers.scripted_environments import wrapped

SINGLE = torch.float32


class GradientNorms(torch.optim.SGD):
    """Plain gradient descent that notes the norm of all gradients together before each step."""

    def __init__(self, parameters: Any, lr: float = 0.0) -> None:
        super().__init__(parameters, lr=lr)
        self.norms: list[float] = []

    def step(self, closure=None):
        gradients = [p.grad for group in self.param_groups for p in group["params"]]
        squares = [float(g.double().pow(2).sum()) for g in gradients if g is not None]
        self.norms.append(float(np.sqrt(sum(squares))))
        return super().step(closure)


def collector(environment: Scripted, actor: Any, frames: int) -> Any:
    """A collector of one batch of ``frames`` steps in this process."""
    return Collector(wrapped(environment), actor, frames_per_batch=frames, total_frames=frames)


def collect(environment: Any, frames: int, **options: Any) -> Any:
    """One batch of random actions in an environment of TorchRL, [frames]."""
    collector = made(
        Collector, environment, None, frames_per_batch=frames, total_frames=frames, **options
    )
    (batch,) = list(collector)
    collector.shutdown()
    return batch


def _buffer(frames: int, batch_size: int, **options: Any) -> Any:
    storage = LazyTensorStorage(frames)
    return TensorDictReplayBuffer(storage=storage, batch_size=batch_size, **options)


def sac(environment: Scripted, loss: SACLoss, actor: Any, frames: int = 1) -> Any:
    """A SACTrainer that has collected ``frames`` steps and updated once, learning rate 0."""
    trainer = silent_trainer(
        SACTrainer,
        collector(environment, actor, frames),
        loss,
        frames,
        optim_steps_per_batch=1,
        optimizer=torch.optim.SGD(loss.parameters(), lr=0.0),
        replay_buffer=_buffer(frames, frames),
        target_net_updater=SoftUpdate(loss, tau=0.005),
    )
    trainer.train()
    return trainer


def td3(
    environment: Scripted,
    loss: TD3Loss,
    actor: Any,
    frames: int = 1,
    updates: int = 1,
    delay: int = 2,
    learning_rate: float = 0.0,
    after_update: Any = None,
) -> Any:
    """A TD3Trainer that has collected ``frames`` steps and made ``updates`` critic updates.

    ``after_update`` is called after each of them, target update included.
    """

    def optimizer(prefix: str) -> torch.optim.Optimizer:
        named = [p for name, p in loss.named_parameters() if name.startswith(prefix)]
        return torch.optim.SGD(named, lr=learning_rate)

    trainer = silent_trainer(
        TD3Trainer,
        collector(environment, actor, frames),
        loss,
        frames,
        optim_steps_per_batch=updates,
        optimization_stepper=TD3OptimizationStepper(
            optimizer("actor_network_params"),
            optimizer("qvalue_network_params"),
            policy_update_delay=delay,
        ),
        replay_buffer=_buffer(frames, frames),
        target_net_updater=SoftUpdate(loss, tau=0.5),
    )
    if after_update is not None:
        trainer.register_op("post_optim", lambda: after_update())
    trainer.train()
    return trainer


def ppo(
    environment: Scripted,
    actor: Any,
    critic: Any,
    frames: int,
    minibatch: int,
    before_training: Any = None,
    **settings: Any,
) -> tuple[Any, ClipPPOLoss, GradientNorms]:
    """A PPOTrainer after one rollout and one epoch, learning rate 0; its loss and optimiser."""
    loss = ppo_loss(actor, critic, clip_epsilon=0.2)
    optimizer = GradientNorms(loss.parameters())
    trainer = silent_trainer(
        PPOTrainer,
        collector(environment, actor, frames),
        loss,
        frames,
        optim_steps_per_batch=None,
        num_epochs=1,
        optimizer=optimizer,
        replay_buffer=_buffer(frames, minibatch, sampler=SamplerWithoutReplacement()),
        **settings,
    )
    if before_training is not None:
        before_training(trainer, loss)
    trainer.train()
    return trainer, loss, optimizer


def squashed_policy(environment: Scripted, loc: list[float], scale: float) -> Any:
    """A tanh Gaussian within the bounds of the environment, constant over states, float32."""
    spec = action_spec(wrapped(environment))
    return policy(
        Numbers(loc, [scale] * len(loc), SINGLE),
        spec,
        TanhNormal,
        low=spec.space.low,
        high=spec.space.high,
    )


def off_policy_loss(family: str, environment: Scripted, **options: Any) -> tuple[Any, Any]:
    """A loss of constant networks for an environment, float32, and the policy that collects."""
    critics = [q_network(Constant(0.0, dtype=SINGLE)) for _ in range(2)]
    if family == "sac":
        actor = squashed_policy(environment, [0.0], 1.0)
        return sac_loss(actor, critics, **options), actor
    deterministic = TensorDictModule(
        Constant(0.0, dtype=SINGLE), in_keys=["observation"], out_keys=["action"]
    )
    spec = action_spec(wrapped(environment))
    return td3_loss(deterministic, critics, action_spec=spec, **options), deterministic

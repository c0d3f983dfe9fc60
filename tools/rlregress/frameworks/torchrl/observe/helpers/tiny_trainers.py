"""TorchRL's trainers on tiny rollouts, with a real collector and a real replay buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import (
    ClipPPOLoss,
    Collector,
    LazyTensorStorage,
    PPOTrainer,
    SamplerWithoutReplacement,
    TanhNormal,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.compat import (
    construct_with_newest_keywords,
    find_action_spec,
    make_ppo_loss,
    make_silent_trainer,
)
from rlregress.frameworks.torchrl.known_networks import Numbers, make_stochastic_policy
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.probing.scripted import Scripted

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


def make_collector(environment: Scripted, actor: Any, frames: int) -> Any:
    """Return a collector of one batch of ``frames`` steps in this process."""
    return Collector(
        wrap_environment(environment), actor, frames_per_batch=frames, total_frames=frames
    )


def collect_random_batch(environment: Any, frames: int, **options: Any) -> Any:
    """Collect one batch of random actions in an environment of TorchRL, [frames]."""
    collector = construct_with_newest_keywords(
        Collector, environment, None, frames_per_batch=frames, total_frames=frames, **options
    )
    (batch,) = list(collector)
    collector.shutdown()
    return batch


def _make_buffer(frames: int, batch_size: int, **options: Any) -> Any:
    storage = LazyTensorStorage(frames)
    return TensorDictReplayBuffer(storage=storage, batch_size=batch_size, **options)


def run_ppo_trainer_once(
    environment: Scripted,
    actor: Any,
    critic: Any,
    frames: int,
    minibatch: int,
    before_training: Any = None,
    **settings: Any,
) -> tuple[Any, ClipPPOLoss, GradientNorms]:
    """Run a PPOTrainer for one rollout and epoch, learning rate 0; return it, loss, norms."""
    loss = make_ppo_loss(actor, critic, clip_epsilon=0.2)
    optimizer = GradientNorms(loss.parameters())
    trainer = make_silent_trainer(
        PPOTrainer,
        make_collector(environment, actor, frames),
        loss,
        frames,
        optim_steps_per_batch=None,
        num_epochs=1,
        optimizer=optimizer,
        replay_buffer=_make_buffer(frames, minibatch, sampler=SamplerWithoutReplacement()),
        **settings,
    )
    if before_training is not None:
        before_training(trainer, loss)
    trainer.train()
    return trainer, loss, optimizer


def make_squashed_policy(environment: Scripted, loc: list[float], scale: float) -> Any:
    """Return a tanh Gaussian within the bounds of the environment, equal in all states."""
    spec = find_action_spec(wrap_environment(environment))
    return make_stochastic_policy(
        Numbers(loc, [scale] * len(loc), SINGLE),
        spec,
        TanhNormal,
        low=spec.space.low,
        high=spec.space.high,
    )

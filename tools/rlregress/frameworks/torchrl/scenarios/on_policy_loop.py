"""PPO, A2C and REINFORCE: rollouts, advantages, epochs of minibatches."""

from __future__ import annotations

import math
from typing import Any

import torch

from rlregress.frameworks.torchrl.api import (
    LazyTensorStorage,
    SamplerWithoutReplacement,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.scenarios.loop import Loop
from rlregress.frameworks.torchrl.scenarios.loop_settings import ScenarioOptions
from rlregress.frameworks.torchrl.scenarios.loss_setup import (
    loss_arguments,
    set_estimator,
    sum_of_losses,
)


class OnPolicy(Loop):
    """Collect, estimate advantages, and go over the batch in minibatches a few times."""

    def __init__(self, options: ScenarioOptions, environment: Any) -> None:
        super().__init__(options, environment)
        self.actor = self.networks.stochastic(options.take("distribution", "tanh-normal"))
        value = self.networks.value()
        penalty = options.take("penalty")
        kinds = {"kl": "KLPENPPOLoss", "none": "PPOLoss", None: "ClipPPOLoss"}
        names = {"ppo": kinds[penalty], "a2c": "A2CLoss", "reinforce": "ReinforceLoss"}
        kind = library("torchrl.objectives", names[options.algorithm])
        self.loss = kind(self.actor, value, **loss_arguments(options, kind))
        set_estimator(options, self.loss, "gae")
        self.rollout, self.epochs = options.take("rollout_steps"), options.take("epochs")
        self.target_kl = options.take("target_kl")
        self.frames = int(self.rollout) * self.copies
        options.nothing_left()
        self.adam = self.optimizer(self.loss.parameters())

    def run(self) -> None:
        options = {"split_trajs": True} if self.masked else {}
        for number, batch in enumerate(self.collector(self.actor, self.frames, **options)):
            self._update(batch)
            self.between(self.actor, number)
            if self.save_load and number == 1:
                saved = {name: v.clone() for name, v in self.loss.state_dict().items()}
                self.loss.load_state_dict(saved)
        self.evaluate(self.actor)

    def _update(self, batch: Any) -> None:
        if self.masked:
            # padded trajectories with the mask that the collector wrote, as one batch
            for _ in range(self.epochs):
                with torch.no_grad():
                    self._estimate(batch)
                self._descend(self.loss(batch))
            return
        for _ in range(self.epochs):
            with torch.no_grad():
                self._estimate(batch)
            rows = batch.reshape(-1)
            buffer = TensorDictReplayBuffer(
                storage=LazyTensorStorage(len(rows)),
                sampler=SamplerWithoutReplacement(),
                batch_size=self.batch,
            )
            buffer.extend(rows)
            for _ in range(math.ceil(len(rows) / self.batch)):
                losses = self.loss(buffer.sample())
                self._descend(losses)
                stops = self.target_kl is not None and losses.get("kl_approx", None) is not None
                if stops and float(losses["kl_approx"]) > self.target_kl:
                    return

    def _descend(self, losses: Any) -> None:
        self.adam.zero_grad()
        sum_of_losses(losses).backward()
        self.step(self.adam, self.loss.parameters())

    def _estimate(self, batch: Any) -> None:
        loss = self.loss
        parameters = {
            "params": getattr(loss, "critic_network_params", getattr(loss, "critic_params", None)),
            "target_params": getattr(
                loss, "target_critic_network_params", getattr(loss, "target_critic_params", None)
            ),
        }
        loss.value_estimator(batch, **parameters)

"""Driver of SAC, TD3 and DDPG: their trainers on a small environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    Collector,
    DDPGTrainer,
    LazyTensorStorage,
    SACTrainer,
    SoftUpdate,
    TanhNormal,
    TD3OptimizationStepper,
    TD3Trainer,
    TensorDictReplayBuffer,
    TensorDictSequential,
)
from rlregress.frameworks.torchrl.compat import (
    add_gaussian_noise,
    find_action_spec,
    make_sac_loss,
    make_silent_trainer,
    make_td3_loss,
)
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    FixedLocScale,
    LinearQNetwork,
    make_q_network,
    make_stochastic_policy,
)
from rlregress.frameworks.torchrl.observe.drivers import twin_losses
from rlregress.frameworks.torchrl.observe.drivers.common import (
    fix_exploration_noise,
    make_tanh_policy,
)
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.measurements.twin_agents import Settings
from rlregress.probing.journal import Parts, StepJournal
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted

#: the smallest scale that the distribution accepts is 1e-6
_NEGLIGIBLE = 1.01e-6
_TRAINERS = {"sac": SACTrainer, "td3": TD3Trainer, "ddpg": DDPGTrainer}


class Driver:
    """A driver of the trainer, with networks of one layer (see ``twin_agents.TwinDriver``).

    Args:
        family: "sac", "td3" or "ddpg".
        environment: replaces the one that plays the settings.
    """

    def __init__(
        self, family: str, settings: Settings, environment: Scripted | None = None
    ) -> None:
        self._family, self._settings = family, settings
        s = settings
        flags: dict[str, Any] = {"terminated": s.terminated, "truncated": s.truncated}
        self._environment = environment or Scripted(s.low, s.high, rewards=s.reward, **flags)
        self._spec = find_action_spec(wrap_environment(self._environment))
        self.buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(256), batch_size=settings.batch_size
        )

    def _make_loss_and_policy(self) -> tuple[Any, Any]:
        """Return a loss, and the policy that collects."""
        s, critics = self._settings, [make_q_network(LinearQNetwork()) for _ in range(2)]
        if self._family == "sac":
            scale = 1.0 if s.pre_tanh is None else _NEGLIGIBLE
            numbers = FixedLocScale([s.pre_tanh or 0.0], [scale], torch.float32)
            bounds = {"low": self._spec.space.low, "high": self._spec.space.high}
            actor = make_stochastic_policy(numbers, self._spec, TanhNormal, **bounds)
            return make_sac_loss(actor, critics, loss_function="l2"), actor
        layer = nn.Linear(1, 1)
        if s.pre_tanh is not None:
            make_output_constant(layer, s.pre_tanh)
        deterministic = exploring = make_tanh_policy(layer, self._spec)
        if s.noise:
            _, noise = add_gaussian_noise(deterministic, self._spec)
            # in a row: the trainer finds no weights in a policy that stands within another
            exploring = TensorDictSequential(*deterministic.module, noise)
            fix_exploration_noise(noise, s.noise)
        if self._family == "ddpg":
            return twin_losses.NamedDDPGLoss(deterministic, critics[0]), exploring
        options = {"action_spec": self._spec, "loss_function": "l2"}
        return make_td3_loss(deterministic, critics, **options), exploring

    def _make_trainer(self, loss: Any, actor: Any) -> Any:
        """Return a trainer with an update for each collected step."""
        s = self._settings
        if s.weight is not None:
            for weight in loss.qvalue_network_params.values(True, True):
                weight.data.fill_(s.weight)
        # with large weights, steps of plain gradient descent lead out of the numbers
        rate = 0.1 if s.learns and s.rates is None and s.weight is None else 0.0
        stepping: dict[str, Any]
        if self._family != "td3":
            stepping = {"optimizer": torch.optim.SGD(loss.parameters(), lr=rate)}
        else:
            tensors = map_parts_to_trained_tensors(loss)
            optimizers = [torch.optim.SGD(tensors[name], lr=rate) for name in ("actor", "critic")]
            delay = s.map_to_framework_names(delay="policy_update_delay")
            stepping = {"optimization_stepper": TD3OptimizationStepper(*optimizers, **delay)}
        started = {} if not s.starts else {"init_random_frames": s.starts}
        return make_silent_trainer(
            _TRAINERS[self._family],
            Collector(
                wrap_environment(self._environment),
                actor,
                frames_per_batch=s.collected_at_once,
                total_frames=s.steps,
                **started,
            ),
            loss,
            s.steps,
            optim_steps_per_batch=s.collected_at_once,
            replay_buffer=self.buffer,
            target_net_updater=SoftUpdate(loss, tau=s.tau),
            **stepping,
        )

    def run_loop(self) -> StepJournal:
        """Run the trainer's own loop."""
        journal = StepJournal()
        loss, actor = self._make_loss_and_policy()
        trainer = self._make_trainer(loss, actor)
        trained_tensors = map_parts_to_trained_tensors(loss)
        self._environment.received.clear()
        journal.actions.append(self._environment.received)
        policy_and_targets = (loss.actor_network_params, loss.target_qvalue_network_params)
        recorded = [lambda own=own: own.values(True, True) for own in policy_and_targets]
        with journal.record_optimizer_steps(make_parts_finder(lambda: trained_tensors), *recorded):
            trainer.train()
        last = self.buffer[:][-1]
        journal.stored_action = float(last["action"].reshape(-1)[0])
        journal.stored_reward = float(last["next", "reward"])
        return journal

    def update_and_read_targets(
        self, source: Sequence[float], target: Sequence[float]
    ) -> np.ndarray:
        loss, actor = self._make_loss_and_policy()
        # a target updater overwrites the targets when it is made
        trainer = self._make_trainer(loss, actor)
        return twin_losses.read_targets_after_update(loss, trainer.train, source, target)

    def compute_target(self, q_values: Sequence[float]) -> float:
        """Return the target of the critics on transitions that the trainer stored and sampled.

        Args:
            q_values: outputs of the target networks.
        """
        s = self._settings
        size = s.batch_size
        driver = Driver(self._family, replace(s, steps=size, collected_at_once=size))
        driver.run_loop()
        stored = driver.buffer.sample()
        precise = stored.apply(lambda x: x.double() if x.is_floating_point() else x)
        return twin_losses.Driver(self._family, s).infer_target_from_losses(
            precise, q_values, Constant
        )


def map_parts_to_trained_tensors(loss: Any) -> dict[str, list[torch.Tensor]]:
    """Return the trained tensors of each part of a loss, without those of target networks."""
    own = {"critic": loss.qvalue_network_params, "actor": loss.actor_network_params}
    by_part = {name: list(part.values(True, True)) for name, part in own.items()}
    if hasattr(loss, "log_alpha"):
        by_part["temperature"] = [loss.log_alpha]
    return by_part


def make_parts_finder(role_parameters: Any) -> Parts:
    """Return a function that finds the parts whose gradients an optimiser holds.

    Args:
        role_parameters: () -> the tensors of each part.
    """

    def find_parts(optimizer: torch.optim.Optimizer) -> dict[str, Iterable[torch.Tensor]]:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        stepped = {id(parameter) for parameter in parameters if parameter.grad is not None}
        return {part: own for part, own in role_parameters().items() if stepped & set(map(id, own))}

    return find_parts

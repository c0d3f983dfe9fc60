"""Driver of SAC and TD3: ``SACTrainer`` and ``TD3Trainer`` on a small environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    Collector,
    LazyTensorStorage,
    SACTrainer,
    SoftUpdate,
    TanhNormal,
    TD3OptimizationStepper,
    TD3Trainer,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.compat import (
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
from rlregress.frameworks.torchrl.observe.drivers.common import make_tanh_policy
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.measurements.twin_agents import Settings
from rlregress.probing.journal import Parts, StepJournal
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted

#: the smallest scale that the distribution accepts is 1e-6
_NEGLIGIBLE = 1.01e-6


class Driver:
    """A driver of the trainer, with networks of one layer (see ``twin_agents.TwinDriver``).

    Args:
        family: "sac" or "td3".
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
        deterministic = make_tanh_policy(layer, self._spec)
        options = {"action_spec": self._spec, "loss_function": "l2"}
        return make_td3_loss(deterministic, critics, **options), deterministic

    def run_loop(self) -> StepJournal:
        """Run the trainer's own loop, with an update for each collected step."""
        s, journal = self._settings, StepJournal()
        loss, actor = self._make_loss_and_policy()
        if s.weight is not None:
            for weight in loss.qvalue_network_params.values(True, True):
                weight.data.fill_(s.weight)
        trained_tensors = map_parts_to_trained_tensors(loss)
        # with large weights, steps of plain gradient descent lead out of the numbers
        rate = 0.1 if s.rates is None and s.weight is None else 0.0
        stepping: dict[str, Any]
        if self._family == "sac":
            stepping = {"optimizer": torch.optim.SGD(loss.parameters(), lr=rate)}
        else:
            optimizers = [
                torch.optim.SGD(trained_tensors[name], lr=rate) for name in ("actor", "critic")
            ]
            delay = s.map_to_framework_names(delay="policy_update_delay")
            stepping = {"optimization_stepper": TD3OptimizationStepper(*optimizers, **delay)}
        started = {} if not s.starts else {"init_random_frames": s.starts}
        trainer = make_silent_trainer(
            SACTrainer if self._family == "sac" else TD3Trainer,
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
            target_net_updater=SoftUpdate(loss, tau=0.5),
            **stepping,
        )
        journal.actions.append(self._environment.received)
        policy_and_targets = (loss.actor_network_params, loss.target_qvalue_network_params)
        recorded = [lambda own=own: own.values(True, True) for own in policy_and_targets]
        with journal.record_optimizer_steps(make_parts_finder(lambda: trained_tensors), *recorded):
            trainer.train()
        last = self.buffer[:][-1]
        journal.stored_action = float(last["action"].reshape(-1)[0])
        journal.stored_reward = float(last["next", "reward"])
        return journal

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

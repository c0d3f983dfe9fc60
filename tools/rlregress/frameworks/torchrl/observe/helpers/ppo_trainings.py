"""Whole small trainings with PPO, by the trainer and by the program, watched from outside."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import (
    AddStateIndependentNormalScale,
    Collector,
    IndependentNormal,
    LazyTensorStorage,
    PPOTrainer,
    SamplerWithoutReplacement,
    SerialEnv,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.compat import (
    LOG_PROBS,
    find_advantage_estimator,
    make_ppo_loss,
    make_silent_trainer,
)
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    make_action_box,
    make_stochastic_policy,
    make_v_network,
)
from rlregress.frameworks.torchrl.observe.helpers.tiny_trainers import SINGLE
from rlregress.frameworks.torchrl.scripted_environments import (
    register_environment,
    wrap_environment,
)
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.probing.layers import compute_gradient_norm
from rlregress.probing.scripted import Scripted

#: called with each minibatch before the loss, may change it
Change = Callable[[Any], None]
#: makes an environment
EnvironmentMaker = Callable[..., Scripted]


class Models(NamedTuple):
    """A policy, a value network and, if its gradients are recorded, the policy's log std."""

    actor: Any
    critic: Any
    log_std: nn.Parameter | None = None


@dataclass
class LossTraining(RecordedTraining):
    """The record of each minibatch of a training; losses are those of the policy.

    Attributes:
        rollouts: what was collected, one after the other.
        estimated: rollouts with their advantages, once for each epoch.
        trainer: the library's trainer; None: a program trained.
        optimizer: of the last update.
        gradient_norms: of all gradients together, before each step of the optimizer.
    """

    rollouts: list[Any] = field(default_factory=list)
    estimated: list[Any] = field(default_factory=list)
    trainer: Any = None
    optimizer: Any = None
    gradient_norms: list[float] = field(default_factory=list)

    def get_estimates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return advantages and value targets of the first rollout, [steps] each."""
        batch = self.estimated[0].reshape(-1)
        advantages, targets = (batch[name].reshape(-1) for name in ("advantage", "value_target"))
        return advantages.numpy(), targets.numpy()

    def watch_loss(self, loss: Any, change: Change | None) -> None:
        """Apply ``change`` to each batch of a loss module, and record batch and losses."""

        def change_batch(module: Any, arguments: Any) -> None:
            if change is not None:
                change(arguments[0])

        def note_losses(module: Any, arguments: Any, output: Any) -> None:
            batch = arguments[0]
            self.evaluated.append(batch["observation"].reshape(-1).numpy().copy())
            self.advantages.append(batch["advantage"].reshape(-1).numpy().copy())
            self.log_ratios.append(float(output["kl_approx"].detach().mean()))
            self.losses.append(float(output["loss_objective"].detach()))

        loss.register_forward_pre_hook(change_batch)
        loss.register_forward_hook(note_losses)

    def watch_optimizer(self, optimizer: torch.optim.Optimizer, models: Models) -> None:
        """Record the learning rate and gradients before each optimiser step."""
        self.optimizer = optimizer

        def note_rate_and_gradients(*_: Any) -> None:
            self.rates.append(float(optimizer.param_groups[0]["lr"]))
            self.gradient_norms.append(compute_gradient_norm(optimizer))
            if models.log_std is not None:
                gradient = models.log_std.grad
                self.log_std_gradients.append(0.0 if gradient is None else float(gradient.sum()))

        optimizer.register_step_pre_hook(note_rate_and_gradients)


def make_change_of_ratios(ratio: Any) -> Change:
    """Return a change that multiplies ratios of samples by ``ratio``, one number or [samples]."""

    def change_batch(batch: Any) -> None:
        logs = torch.as_tensor(np.log(np.resize(ratio, len(batch))), dtype=SINGLE)
        for name in LOG_PROBS:
            if name in batch.keys():  # noqa: SIM118 (a tensordict does not answer 'in')
                batch[name] = batch[name] - logs.reshape(batch[name].shape)

    return change_batch


def make_gaussian_models(policy: nn.Module, value: nn.Module | None = None) -> Models:
    """Return a Gaussian policy and a value network of these networks; by default V(s) is 0."""
    actor = make_stochastic_policy(policy, make_action_box(-1.0, 1.0, SINGLE), IndependentNormal)
    return Models(actor, make_v_network(Constant(0.0, dtype=SINGLE) if value is None else value))


def make_linear_models() -> Models:
    """Return a Gaussian policy and a value network, both linear and from 0."""
    scale = AddStateIndependentNormalScale(1)
    loc, value = nn.Linear(1, 1), nn.Linear(1, 1)
    for layer in (loc, value):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    (log_std,) = scale.parameters()
    return make_gaussian_models(nn.Sequential(loc, scale), value)._replace(log_std=log_std)


def run_trainer(
    environments: list[Scripted],
    total_steps: int,
    frames: int,
    minibatch: int,
    *,
    models: Models | None = None,
    epochs: int = 1,
    learning_rate: float = 0.0,
    schedule: Any = None,
    change: Change | None = None,
    recorded: LossTraining | None = None,
    entropy: float = 0.0,
    is_standardised: bool = True,
    **settings: Any,
) -> LossTraining:
    """Train with ``PPOTrainer``, and return the record.

    Args:
        frames: of a rollout, over all environments.
        models: by default linear ones.
        schedule: makes a scheduler of the learning rate out of the optimiser.
        recorded: the record to fill; by default a new one.
        is_standardised: the trainer's own estimator standardises advantages, as by default.
        settings: further ones of PPOTrainer.
    """
    recorded = LossTraining() if recorded is None else recorded
    models = make_linear_models() if models is None else models
    loss = make_ppo_loss(models.actor, models.critic, clip_epsilon=0.2, entropy_coeff=entropy)
    recorded.watch_loss(loss, change)
    optimizer = torch.optim.SGD(loss.parameters(), lr=learning_rate)
    recorded.watch_optimizer(optimizer, models)
    playing = [wrap_environment(environment) for environment in environments]
    environment = playing[0]
    if len(playing) > 1:
        environment = SerialEnv(len(playing), [lambda env=single: env for single in playing])
    if schedule is not None:
        settings["lr_scheduler"] = schedule(optimizer)
    recorded.trainer = make_silent_trainer(
        PPOTrainer,
        Collector(environment, models.actor, frames_per_batch=frames, total_frames=total_steps),
        loss,
        total_steps,
        optim_steps_per_batch=None,
        num_epochs=epochs,
        optimizer=optimizer,
        replay_buffer=TensorDictReplayBuffer(
            storage=LazyTensorStorage(frames),
            sampler=SamplerWithoutReplacement(),
            batch_size=minibatch,
        ),
        **settings,
    )

    def copy_batch_to_list(kept_batches: list[Any], batch: Any) -> Any:
        kept_batches.append(batch.clone())
        return batch

    if not is_standardised:
        find_advantage_estimator(recorded.trainer).average_gae = False
    for stage, batches in (
        ("batch_process", recorded.rollouts),
        ("pre_epoch", recorded.estimated),
    ):
        recorded.trainer.register_op(stage, functools.partial(copy_batch_to_list, batches))
    recorded.trainer.train()
    return recorded


def _replace_models_and_watch_program(
    program: Any, models: Models, recorded: LossTraining, change: Change | None
) -> None:
    """Give a fresh copy of the program these models, and let it write into ``recorded``."""
    loss_class, group_optimizers = program.ClipPPOLoss, program.group_optimizers
    estimator_class: Any = program.GAE
    # its name until 0.11
    collector_name = programs.find_first_name_in_program(program, "Collector", "SyncDataCollector")
    collector_class: Any = getattr(program, collector_name)

    def record_and_make_loss(*arguments: Any, **options: Any) -> Any:
        loss = loss_class(*arguments, **options)
        recorded.watch_loss(loss, change)
        return loss

    def record_and_make_optimizer(*optimizers: Any) -> Any:
        optimizer = group_optimizers(*optimizers)
        recorded.watch_optimizer(optimizer, models)
        return optimizer

    class RecordingEstimator(estimator_class):
        def forward(self, *arguments: Any, **options: Any) -> Any:
            batch = super().forward(*arguments, **options)
            recorded.estimated.append(batch.clone())
            return batch

    class RecordingCollector(collector_class):
        def __iter__(self) -> Any:
            for batch in super().__iter__():
                recorded.rollouts.append(batch.clone())
                yield batch

    program.ClipPPOLoss, program.group_optimizers = record_and_make_loss, record_and_make_optimizer
    program.GAE = RecordingEstimator
    setattr(program, collector_name, RecordingCollector)
    program.make_ppo_models = lambda *arguments, **options: models[:2]
    # what a policy is worth is not asked here
    program.eval_model = lambda *arguments, **options: torch.zeros(1)


def run_ppo_program(
    make_environment: EnvironmentMaker,
    total_steps: int,
    frames: int,
    minibatch: int,
    *,
    models: Models | None = None,
    epochs: int = 1,
    learning_rate: float = 0.0,
    change: Change | None = None,
    recorded: LossTraining | None = None,
    **changed: Any,
) -> LossTraining:
    """Train with ``main`` of the PPO program, and return the record.

    Args:
        make_environment: makes the environment.
        frames: of a rollout.
        models: by default linear ones.
        recorded: the record to fill; by default a new one.
        changed: further settings of the program.
    """
    recorded = LossTraining() if recorded is None else recorded
    loaded = programs.load_program("ppo", "ppo_mujoco")
    programs.disable_normalisation(loaded)
    models = make_linear_models() if models is None else models
    _replace_models_and_watch_program(loaded, models, recorded, change)
    # observations as MuJoCo gives them: until 0.13 the program takes no others
    with register_environment(functools.partial(make_environment, dtype=np.float64)) as environment:
        loaded.main(
            programs.make_ppo_settings(
                environment, frames, minibatch, total_frames=total_steps, lr=learning_rate,
                ppo_epochs=epochs, **changed,
            )
        )  # fmt: skip
    return recorded

"""Whole small trainings with PPO, by the trainer and by the program, watched from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import (
    GAE,
    AddStateIndependentNormalScale,
    ClipPPOLoss,
    IndependentNormal,
    PPOTrainer,
)
from rlregress.frameworks.torchrl.compat import LOG_PROBS, find_advantage_estimator, make_ppo_loss
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    make_action_box,
    make_stochastic_policy,
    make_v_network,
)
from rlregress.frameworks.torchrl.scripted_environments import (
    put_side_by_side,
    register_environment,
    wrap_environment,
)
from rlregress.frameworks.torchrl.train import trainers
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.probing.layers import compute_gradient_norm, list_optimized_parameters
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
        estimated: rollouts with their advantages, once for each epoch.
        trainer: the library's trainer; None: a program trained.
        optimizer: of the last update.
        gradient_norms: of all gradients together, before each step of the optimizer.
    """

    estimated: list[Any] = field(default_factory=list)
    trainer: Any = None
    optimizer: Any = None
    gradient_norms: list[float] = field(default_factory=list)

    def get_estimates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return advantages and value targets of the first rollout, [steps] each."""
        batch = self.estimated[0].reshape(-1)
        advantages, targets = (batch[name].reshape(-1) for name in ("advantage", "value_target"))
        return advantages.numpy(), targets.numpy()

    @contextmanager
    def watch_training(self, models: Models, change: Change | None) -> Iterator[None]:
        """Record estimators, losses and optimizer steps; apply ``change`` to each minibatch."""

        def change_batch(module: Any, arguments: Any) -> None:
            if change is not None and isinstance(module, ClipPPOLoss):
                change(arguments[0])

        def note_outputs(module: Any, arguments: Any, output: Any) -> None:
            if isinstance(module, GAE):
                self.estimated.append(output.clone())
            elif isinstance(module, ClipPPOLoss):
                batch = arguments[0]
                self.evaluated.append(batch["observation"].reshape(-1).numpy().copy())
                self.advantages.append(batch["advantage"].reshape(-1).numpy().copy())
                self.log_ratios.append(float(output["kl_approx"].detach().mean()))
                self.losses.append(float(output["loss_objective"].detach()))

        def note_rate_and_gradients(optimizer: Any, *_: Any) -> None:
            self.optimizer = optimizer
            self.rates.append(float(optimizer.param_groups[0]["lr"]))
            self.gradient_norms.append(compute_gradient_norm(list_optimized_parameters(optimizer)))
            if models.log_std is not None:
                gradient = models.log_std.grad
                self.log_std_gradients.append(0.0 if gradient is None else float(gradient.sum()))

        with (
            register_module_forward_pre_hook(change_batch),
            register_module_forward_hook(note_outputs),
            register_optimizer_step_pre_hook(note_rate_and_gradients),
        ):
            yield


def make_change_of_ratios(ratio: Any) -> Change:
    """Return a change that multiplies ratios of samples by ``ratio``, one number or [samples]."""

    def change_batch(batch: Any) -> None:
        logs = torch.as_tensor(np.log(np.resize(ratio, len(batch))), dtype=torch.float32)
        for name in LOG_PROBS:
            if name in batch.keys():  # noqa: SIM118 (a tensordict does not answer 'in')
                batch[name] = batch[name] - logs.reshape(batch[name].shape)

    return change_batch


def make_gaussian_models(policy: nn.Module, value: nn.Module | None = None) -> Models:
    """Return a Gaussian policy and a value network of these networks; by default V(s) is 0."""
    actor = make_stochastic_policy(
        policy, make_action_box(-1.0, 1.0, torch.float32), IndependentNormal
    )
    return Models(
        actor, make_v_network(Constant(0.0, dtype=torch.float32) if value is None else value)
    )


def make_linear_models() -> Models:
    """Return a Gaussian policy and a value network, both linear and from 0."""
    scale = AddStateIndependentNormalScale(1)
    loc, value = nn.Linear(1, 1), nn.Linear(1, 1)
    for layer in (loc, value):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    (log_std,) = scale.parameters()
    return make_gaussian_models(nn.Sequential(loc, scale), value)._replace(log_std=log_std)


def train(
    scope: str,
    make_environment: EnvironmentMaker,
    total_steps: int,
    frames: int,
    minibatch: int,
    *,
    models: Models | None = None,
    change: Change | None = None,
    recorded: LossTraining | None = None,
    **options: Any,
) -> LossTraining:
    """Train with ``PPOTrainer``, or with ``main`` of the PPO program, and return the record.

    Args:
        scope: "trainer" or "script".
        frames: of a rollout, over all environments.
        models: by default linear ones.
        recorded: the record to fill; by default a new one.
        options: further ones of ``_make_trainer`` or ``_run_program``.
    """
    recorded = LossTraining() if recorded is None else recorded
    models = make_linear_models() if models is None else models
    options |= {"total_frames": total_steps, "frames": frames, "minibatch": minibatch}
    with recorded.watch_training(models, change):
        if scope == "trainer":
            recorded.trainer = _make_trainer(make_environment, models, **options)
            recorded.trainer.train()
        else:
            _run_program(make_environment, models, **options)
    return recorded


def _make_trainer(
    make_environment: EnvironmentMaker,
    models: Models,
    total_frames: int,
    frames: int,
    minibatch: int,
    epochs: int = 1,
    environments: int = 1,
    learning_rate: float = 0.0,
    is_annealed: bool = False,
    entropy: float = 0.0,
    is_standardised: bool = True,
    **settings: Any,
) -> Any:
    """Return a ``PPOTrainer``.

    Args:
        is_annealed: PyTorch's linear scheduler, stepped once per rollout, lowers the rate to 0.
        is_standardised: the trainer's own estimator standardises advantages, as by default.
        settings: further ones of PPOTrainer.
    """
    loss = make_ppo_loss(models.actor, models.critic, clip_epsilon=0.2, entropy_coeff=entropy)
    optimizer = torch.optim.SGD(loss.parameters(), lr=learning_rate)
    # made once: their actions are recorded
    playing = [wrap_environment(make_environment()) for _ in range(environments)]
    environment = put_side_by_side([partial(lambda own: own, single) for single in playing])
    if is_annealed:
        settings["lr_scheduler"] = torch.optim.lr_scheduler.LinearLR(
            optimizer, 1.0, 0.0, total_frames // frames
        )
    parts = trainers.Parts(PPOTrainer, models.actor, loss, None, {"optimizer": optimizer})
    sizes = {"rollout_steps": frames, "minibatch_size": minibatch}
    trainer = trainers.make_trainer_of_parts(
        parts, environment, sizes, total_frames, num_epochs=epochs, **settings
    )
    if not is_standardised:
        find_advantage_estimator(trainer).average_gae = False
    return trainer


#: option of a training -> setting of the program.
_SETTINGS = {
    "epochs": "ppo_epochs", "learning_rate": "lr", "is_annealed": "anneal_lr",
    "lmbda": "gae_lambda",
}  # fmt: skip


def _run_program(
    make_environment: EnvironmentMaker, models: Models, frames: int, minibatch: int, **options: Any
) -> None:
    """Run ``main`` of the PPO program; options are settings of it.

    Its estimator never standardises advantages, its loss does.
    """
    changed = {_SETTINGS.get(name, name): value for name, value in options.items()}
    changed.pop("is_standardised", None)
    loaded = programs.load_program("ppo", "ppo_mujoco")
    programs.disable_normalisation(loaded)
    loaded.make_ppo_models = lambda *arguments, **options: models[:2]
    # what a policy is worth is not asked here
    loaded.eval_model = lambda *arguments, **options: torch.zeros(1)
    # observations as MuJoCo gives them: until 0.13 the program takes no others
    with register_environment(partial(make_environment, dtype=np.float64)) as environment:
        loaded.main(programs.make_ppo_settings(environment, frames, minibatch, **changed))

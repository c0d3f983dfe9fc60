"""Driver of deep deterministic policy gradients: ``DDPGLoss`` by itself, and ``DDPGTrainer``."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    Collector,
    DDPGLoss,
    DDPGTrainer,
    SoftUpdate,
    TensorDictSequential,
)
from rlregress.frameworks.torchrl.compat import (
    add_gaussian_noise,
    call_with_newest_keywords,
    find_action_spec,
    get_loss_output,
)
from rlregress.frameworks.torchrl.known_networks import LinearQNetwork, make_q_network
from rlregress.frameworks.torchrl.observe.drivers.common import (
    fix_exploration_noise,
    make_batch,
    make_tanh_policy,
    make_trainer_without_learning,
)
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.measurements.driven_agents import Look, LoopRecord, Settings, do_nothing
from rlregress.probing.driven import ScriptedEnvs, fill_parameters


class Driver:
    """A driver of ``DDPGLoss`` by itself; ``run_loop`` trains with ``DDPGTrainer``.

    See ``measurements.driven_agents.ContinuousAgent``.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._envs = ScriptedEnvs(settings, low=settings.low, high=settings.high)
        self._environment = wrap_environment(self._envs.make_environment())
        self._spec = find_action_spec(self._environment)
        self._policy = make_tanh_policy(nn.Linear(1, 1), self._spec)
        self._loss = DDPGLoss(self._policy, make_q_network(LinearQNetwork()))
        self._loss.make_value_estimator(gamma=settings.discount)

    def _get_layer(self, name: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Return weight and bias of the one layer of "value", "actor" or a target of them."""
        parameters = getattr(self._loss, f"{name}_network_params").items(True, True)
        named = {key if isinstance(key, str) else key[-1]: own for key, own in parameters}
        return named["weight"].data, named["bias"].data

    def _has_target(self, name: str) -> bool:
        trained, followed = self._get_layer(name), self._get_layer(f"target_{name}")
        return followed[0].data_ptr() != trained[0].data_ptr()

    def _set_outputs(self, name: str, online: float, target: float) -> None:
        """Make the outputs of a network, and of its target if there is one, constant."""
        for layer, number in ((name, online), (f"target_{name}", target)):
            if layer == name or self._has_target(name):
                weight, bias = self._get_layer(layer)
                weight.zero_()
                bias.fill_(number)

    def set_values(self, online: float, target: float) -> None:
        self._set_outputs("value", online, target)

    def set_policy(self, online: float, target: float) -> None:
        self._set_outputs("actor", online, target)

    def fill_parameters(self, online: float, target: float) -> None:
        for name in ("value", "actor"):
            fill_parameters(self._get_layer(name), online)
            if self._has_target(name):
                fill_parameters(self._get_layer(f"target_{name}"), target)

    def read_target_parameters(self) -> tuple[float, float | None]:
        values, policy = (float(self._get_layer(f"target_{n}")[1]) for n in ("value", "actor"))
        return values, policy if self._has_target("actor") else None

    def count_q_networks_and_targets(self) -> tuple[int, int]:
        """Count the network that the loss takes, and its target."""
        return 1, int(self._has_target("value"))

    def compute_critic_and_policy_loss(self, online: float, target: float) -> tuple[float, float]:
        """Return the losses of ``DDPGLoss`` for a batch as a replay buffer samples it."""
        self.set_values(online, target)
        losses = self._loss(make_batch(self._settings, 0.0))
        return float(losses["loss_value"].detach()), float(losses["loss_actor"].detach())

    def read_target_actions(self) -> np.ndarray:
        """Return the actions that the target Q network receives: its value is set to the action."""
        self.set_values(0.0, 0.0)
        weight, _ = self._get_layer("target_value")
        weight.copy_(torch.tensor([[0.0, 1.0]]))
        outputs = self._loss(make_batch(self._settings, 0.0))
        targets = get_loss_output(outputs, "target_value").detach().double().numpy()
        return targets / self._settings.discount

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> LoopRecord:
        settings, envs = self._settings, self._envs
        exploring = self._policy
        if settings.noise is not None:
            _, noise = add_gaussian_noise(self._policy, self._spec)
            # in a row: the trainer finds no weights in a policy that stands within another
            exploring = TensorDictSequential(*self._policy.module, noise)
            fix_exploration_noise(noise, settings.noise)
        collector = call_with_newest_keywords(
            Collector,
            self._environment,
            exploring,
            frames_per_batch=settings.every,
            total_frames=settings.steps,
            init_random_frames=settings.starts,
        )
        updater = SoftUpdate(self._loss, tau=settings.tau)
        trainer = make_trainer_without_learning(
            DDPGTrainer, settings, collector, self._loss, target_net_updater=updater
        )
        envs.environments[0].received.clear()
        return envs.record_training(trainer.train, on_start, on_step, lambda optimizer: "both")

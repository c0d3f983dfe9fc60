"""Driver of DDPG: its own ``update``, and training by its trainer."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlregress.frameworks.skrl.agents import (
    NEVER,
    AgentSetup,
    call_after_model,
    make_noise_settings,
    make_outputs_constant,
)
from rlregress.measurements.driven_agents import Look, LoopRecord, Settings, do_nothing
from rlregress.probing import watched_updates
from rlregress.probing.driven import ScriptedEnvs, fill_parameters


def make_constant_noise_settings(number: float) -> dict[str, Any]:
    """Return settings of an agent whose exploration noise is always ``number``."""
    # of a deviation of 0 PyTorch makes no distribution
    return make_noise_settings("exploration_noise", mean=float(number), std=1e-9)


class Driver:
    """An agent of ``DDPG`` with small networks (see ``driven_agents.ContinuousAgent``)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._envs = ScriptedEnvs(settings, low=settings.low, high=settings.high)
        self._training = self._make_training(settings.starts)
        self._fed: AgentSetup | None = None

    def _make_training(self, starts: int) -> AgentSetup:
        settings = self._settings
        return AgentSetup(
            "ddpg",
            self._envs.make_environment(),
            learning_rate=0.0,
            random_timesteps=settings.starts,
            learning_starts=starts,
            batch_size=settings.batch_size,
            discount_factor=settings.discount,
            **({} if settings.noise is None else make_constant_noise_settings(settings.noise)),
        )

    def set_values(self, online: float, target: float) -> None:
        """Make the outputs of the Q networks, and of their targets, constant."""
        make_outputs_constant(self._training, ("critic", "target_critic"), [online], [target])

    def set_policy(self, online: float, target: float) -> None:
        """Make the outputs of the policy, and of its target, constant."""
        for training in filter(None, (self._training, self._fed)):
            make_outputs_constant(training, ("policy", "target_policy"), [online], [target])

    def fill_parameters(self, online: float, target: float) -> None:
        for name, network in self._training.models.items():
            fill_parameters(network.parameters(), target if name.startswith("target") else online)

    def read_target_parameters(self) -> tuple[float, float | None]:
        networks = (self._training.models[name] for name in ("target_critic", "target_policy"))
        values, policy = (float(next(n.parameters()).detach().flatten()[0]) for n in networks)
        return values, policy

    def count_q_networks_and_targets(self) -> tuple[int, int]:
        """Return how many Q networks, and how many target Q networks, the agent has."""
        names = [name for name in self._training.agent.checkpoint_modules if "critic" in name]
        created = [name for name in names if "optimizer" not in name]
        return sum("target" not in n for n in created), sum("target" in n for n in created)

    def compute_critic_and_policy_loss(self, online: float, target: float) -> tuple[float, float]:
        """Return the losses of ``update`` for transitions that a training has collected."""
        fed = self._make_training_with_minibatch()
        make_outputs_constant(fed, ("critic", "target_critic"), [online], [target])
        losses = watched_updates.run_and_record_losses(fed.update_once, fed.optimizers)
        return watched_updates.require_one_number(
            losses["critic"]
        ), watched_updates.require_one_number(losses["actor"])

    def read_target_actions(self) -> np.ndarray:
        """Return the actions that the target critic receives."""
        fed, recorded = self._make_training_with_minibatch(), []
        for name in ("policy", "target_policy"):
            fed.models[name].load_state_dict(self._training.models[name].state_dict())
        call_after_model(
            fed.models["target_critic"],
            lambda inputs, _: recorded.append(inputs["taken_actions"].double().numpy().flatten()),
        )
        fed.update_once()
        return np.concatenate(recorded)

    def _make_training_with_minibatch(self) -> AgentSetup:
        if self._fed is None:
            self._fed = self._make_training(NEVER)
            self._fed.run_steps(self._settings.batch_size)
        return self._fed

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> LoopRecord:
        optimizers, training = self._training.optimizers, self._training
        roles = {id(optimizers["critic"]): "values", id(optimizers["actor"]): "policy"}
        return self._envs.record_training(
            lambda: training.run_steps(self._settings.steps),
            on_start,
            on_step,
            lambda optimizer: roles[id(optimizer)],
        )

"""Driver of DDPG: its own ``learn`` and ``train``."""

from __future__ import annotations

import numpy as np
from stable_baselines3 import DDPG
from stable_baselines3.common.noise import NormalActionNoise

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.measurements.driven_agents import Look, LoopRecord, Settings, do_nothing
from rlregress.probing import watched_updates
from rlregress.probing.driven import ScriptedEnvs, fill_parameters
from rlregress.probing.layers import make_output_constant


class Driver:
    """An agent of ``DDPG`` with small networks (see ``driven_agents.ContinuousAgent``)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._envs = ScriptedEnvs(settings, low=settings.low, high=settings.high)
        noise = None
        if settings.noise is not None:
            noise = NormalActionNoise(mean=np.full(1, settings.noise), sigma=np.zeros(1))
        self._agent = probe_agents.make_agent(
            DDPG,
            self._envs.make_environment(),
            learning_rate=probe_agents.FROZEN,
            buffer_size=256,
            learning_starts=settings.starts,
            batch_size=settings.batch_size,
            gamma=settings.discount,
            train_freq=settings.every,
            gradient_steps=1,
            action_noise=noise,
            policy_kwargs={"net_arch": [4]},
        )
        self._collected = False

    def set_values(self, online: float, target: float) -> None:
        agent = self._agent
        for critic, number in ((agent.critic, online), (agent.critic_target, target)):
            probe_agents.make_critics_constant(critic, [number] * len(critic.q_networks))

    def set_policy(self, online: float, target: float) -> None:
        agent = self._agent
        for actor, number in ((agent.actor, online), (agent.actor_target, target)):
            make_output_constant(actor.mu, [number])

    def fill_parameters(self, online: float, target: float) -> None:
        agent = self._agent
        for trained in (agent.critic, agent.actor):
            fill_parameters(trained.parameters(), online)
        for followed in (agent.critic_target, agent.actor_target):
            fill_parameters(followed.parameters(), target)

    def read_target_parameters(self) -> tuple[float, float | None]:
        networks = (self._agent.critic_target, self._agent.actor_target)
        values, policy = (float(next(n.parameters()).detach().flatten()[0]) for n in networks)
        return values, policy

    def count_q_networks_and_targets(self) -> tuple[int, int]:
        """Count the networks of the critic and of its target."""
        return len(self._agent.critic.q_networks), len(self._agent.critic_target.q_networks)

    def compute_critic_and_policy_loss(self, online: float, target: float) -> tuple[float, float]:
        """Return the losses of ``train`` for transitions that ``learn`` has collected."""
        self._collect_minibatch()
        self.set_values(online, target)
        losses = watched_updates.run_and_record_losses(
            self._update_once, probe_agents.list_optimizers(self._agent)
        )
        policy = losses["actor"][-1] if losses["actor"] else float("nan")
        return watched_updates.require_one_number(losses["critic"]), policy

    def read_target_actions(self) -> np.ndarray:
        """Return the actions that the target critic receives."""
        self._collect_minibatch()
        recorded = []
        handle = self._agent.critic_target.register_forward_pre_hook(
            lambda _, inputs: recorded.append(inputs[1].detach().double().numpy().flatten())
        )
        try:
            self._update_once()
        finally:
            handle.remove()
        return np.concatenate(recorded)

    def _update_once(self) -> None:
        self._agent.train(gradient_steps=1, batch_size=self._settings.batch_size)

    def _collect_minibatch(self) -> None:
        if not self._collected:
            self._agent.gradient_steps = 0
            self._agent.learn(self._settings.batch_size)
            self._collected = True

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> LoopRecord:
        agent = self._agent
        roles = {id(agent.critic.optimizer): "values", id(agent.actor.optimizer): "policy"}
        return self._envs.record_training(
            lambda: agent.learn(self._settings.steps),
            on_start,
            on_step,
            lambda optimizer: roles[id(optimizer)],
        )

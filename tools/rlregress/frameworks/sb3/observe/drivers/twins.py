"""Driver of SAC, TD3, DDPG and their subclasses: their own ``learn``, ``train`` and actor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.noise import NormalActionNoise
from torch import nn

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.measurements.twin_agents import Settings
from rlregress.probing import layers
from rlregress.probing.driven import (
    fill_networks_and_targets,
    fill_parameters,
    fix_log_prob_of_samples,
    read_parameter_of_each_target,
)
from rlregress.probing.heads import fix_draws_of_normal_distributions
from rlregress.probing.isolation import shift_seed
from rlregress.probing.journal import StepJournal, make_parts_finder, run_and_record_steps
from rlregress.probing.layers import (
    find_last_linear_layer,
    list_linear_layers,
    make_output_constant,
)
from rlregress.probing.scripted import Scripted, make_script_of_end_after
from rlregress.probing.single_updates import ACTION, NOW, THEN, UpdateDriver

_SETTINGS = {
    "discount": "gamma",
    "starts": "learning_starts",
    "delay": "policy_delay",
    "target_every": "target_update_interval",
    "coefficient": "tau",
    "target_entropy": "target_entropy",
}
_OF_TD3 = {"smoothing": "target_policy_noise", "smoothing_bound": "target_noise_clip"}
_FREQUENCIES: dict[str, dict[str, Any]] = {
    "one": {"train_freq": 1, "gradient_steps": 1},
    "default": {},
    "fewer": {"train_freq": 2, "gradient_steps": 1},
    "more": {"train_freq": 1, "gradient_steps": 2},
}
#: steps without updates
_COLLECTING = {"train_freq": 1, "gradient_steps": 0}


class Driver(UpdateDriver):
    """An agent of a class with small networks (see ``twin_agents.TwinDriver``)."""

    shares_rate = True

    def __init__(self, algorithm_class: Any, settings: Settings) -> None:
        self._algorithm_class, self._settings = algorithm_class, settings

    def _make_agent(self, **arguments: Any) -> Any:
        s = self._settings
        # of a few rectified units all may be 0, and with them the gradient
        policy: dict[str, Any] = {"net_arch": [16 if s.weight is None else 64]}
        settings = {**s.map_to_framework_names(**_SETTINGS), **arguments}
        keywords = compat.list_parameters_of_function(self._algorithm_class)
        if "policy_delay" not in keywords:
            settings.pop("policy_delay", None)
        if "target_policy_noise" in keywords:
            settings.update(s.map_to_framework_names(**_OF_TD3))
        if s.networks != 2:
            policy["n_critics"] = s.networks
        if s.rates is not None:
            settings["learning_rate"] = s.rates[1]
        if s.temperature is not None:
            trained = f"auto_{s.temperature}" if s.trained_temperature else s.temperature
            settings["ent_coef"] = trained
        noise = (s.noise or 0.0, 0.0) if s.deviation is None else (0.0, s.deviation)
        if any(noise):
            mean, deviation = (np.full(1, number) for number in noise)
            settings["action_noise"] = NormalActionNoise(mean=mean, sigma=deviation)
        # In older versions the default is a round of updates an episode: episodes have to end.
        ends = (
            {"truncated": make_script_of_end_after(s.collected_at_once)}
            if s.updates == "default"
            else {}
        )
        script: dict[str, Any] = {"rewards": s.reward, "terminated": s.terminated}
        script |= {"truncated": s.truncated, "observation_dimensions": s.observations, **ends}
        self._environments = [Scripted(s.low, s.high, **script) for _ in range(s.environments)]
        are_several = len(self._environments) > 1
        agent = probe_agents.make_agent(
            self._algorithm_class,
            gyms.vectorise_environments(*self._environments)
            if are_several
            else self._environments[0],
            buffer_size=256,
            batch_size=s.batch_size,
            policy_kwargs=policy,
            seed=shift_seed(s.seed),
            **settings,
        )
        self._apply_settings_to_agent(agent)
        return agent

    def _apply_settings_to_agent(self, agent: Any) -> None:
        s = self._settings
        if s.log_prob is not None and hasattr(agent.actor, "action_log_prob"):
            fix_log_prob_of_samples(agent.actor, "action_log_prob", s.log_prob)
        if s.pre_tanh is not None:
            make_output_constant(agent.actor.mu, s.pre_tanh)
            if hasattr(agent.actor, "log_std"):
                make_output_constant(agent.actor.log_std, -20.0)
        if s.weight is not None:
            for network in agent.critic.q_networks:
                fill_parameters([find_last_linear_layer(network).weight], s.weight)

    def _make_agent_with_filled_buffer(self) -> Any:
        """Return an agent whose replay buffer is filled by ``learn``, with equal observations."""
        agent = self._make_agent(**_COLLECTING)
        agent.learn(self._settings.batch_size)
        buffer = agent.replay_buffer
        buffer.observations[:], buffer.next_observations[:] = NOW, THEN
        buffer.actions[:] = ACTION
        return agent

    def _update_once(self, agent: Any) -> None:
        agent.train(gradient_steps=1, batch_size=self._settings.batch_size)

    def run_update(self, prepare: Callable[[Any], Any], part: str) -> StepJournal:
        agent = self._make_agent_with_filled_buffer()
        prepare(agent)
        update = partial(self._update_once, agent)
        return run_and_record_steps(update, probe_agents.list_optimizers(agent))

    def list_q_networks(self, agent: Any, are_targets: bool = False) -> Sequence[nn.Module]:
        critic = probe_agents.find_target_critics(agent) if are_targets else agent.critic
        return list(critic.q_networks)

    def evaluate(self, network: Any, observation: float, action: float) -> torch.Tensor:
        return network(torch.tensor([[observation, action]]))

    def act(self, agent: Any, observation: float, by_target: bool = False) -> float:
        actor = agent.actor_target if by_target and hasattr(agent, "actor_target") else agent.actor
        # one that reports a log-probability samples 0
        draw = getattr(actor, "action_log_prob", actor)
        with torch.no_grad():
            return float(draw(torch.full((1, 1), observation))[0])

    def fix_q_values(
        self, agent: Any, q_values: Sequence[float], action: float, are_targets: bool = False
    ) -> None:
        if hasattr(agent, "critic_target"):
            super().fix_q_values(agent, q_values, action, are_targets)
            return
        # agents without target networks have batch normalisation: constants alone are known
        probe_agents.make_critics_constant(agent.critic, q_values)

    def compute_temperature_loss_and_gradient(self) -> tuple[float, float]:
        agents: list[Any] = []
        loss = self.run_update(agents.append, "temperature").get_only_loss("temperature")
        return loss, agents[0].log_ent_coef.grad.item()

    def read_temperature(self) -> float:
        return float(self._make_agent().log_ent_coef.detach().exp())

    def read_target_entropy(self) -> float:
        return float(self._make_agent().target_entropy)

    def _make_standard_actor(self) -> Any:
        """Return an actor in float64 whose Gaussian has mean 0 and log standard deviation 0."""
        actor = self._make_agent().actor
        # Observations are made float32 before the features are extracted, whatever the actor is.
        actor.features_extractor = nn.Sequential(actor.features_extractor, _ToDouble())
        # as it acts: of one observation there are no statistics
        actor.double().eval()
        make_output_constant(actor.mu, 0.0)
        make_output_constant(actor.log_std, 0.0)
        return actor

    def compute_log_deviation(self, outputs: Sequence[float]) -> np.ndarray:
        actor, deviations = self._make_standard_actor(), []
        for output in outputs:
            make_output_constant(actor.log_std, output)
            with torch.no_grad():
                actor.action_log_prob(torch.zeros(1, 1))
            deviations.append(actor.action_dist.distribution.stddev.log().item())
        return np.array(deviations)

    def compute_log_prob(self, draw: Sequence[float]) -> float:
        actor = self._make_standard_actor()
        with torch.no_grad(), fix_draws_of_normal_distributions(draw):
            return actor.action_log_prob(torch.zeros(1, 1))[1].item()

    def compute_smoothed_actions(
        self, squashed: float, samples: int, draw_per_sample: bool
    ) -> np.ndarray:
        """Return the actions that the target critics receive; every sample has its own draw."""
        agent = self._make_agent_with_filled_buffer()
        # 1 - 1e-12 is 1 in float32, where the actor computes its tanh.
        inside = np.clip(squashed, -1.0 + 1e-12, 1.0 - 1e-12)
        make_output_constant(agent.actor_target.mu, np.arctanh(inside))
        recorded: list[torch.Tensor] = []
        handle = agent.critic_target.register_forward_pre_hook(
            lambda _, inputs: recorded.append(inputs[1].detach().clone())
        )
        try:
            agent.train(gradient_steps=1, batch_size=samples)
        finally:
            handle.remove()
        (actions,) = recorded
        return agent.policy.unscale_action(actions.double().numpy())

    def update_and_read_targets(
        self, source: Sequence[float], target: Sequence[float]
    ) -> np.ndarray:
        agent = self._make_agent_with_filled_buffer()
        pairs = list(zip(agent.critic.q_networks, agent.critic_target.q_networks, strict=False))
        if hasattr(agent, "actor_target"):
            pairs.append((agent.actor, agent.actor_target))
        fill_networks_and_targets(pairs, source, target)
        self._update_once(agent)
        return read_parameter_of_each_target(pairs)

    def count_q_networks_and_targets(self) -> tuple[int, int]:
        agent, inputs = self._make_agent(), [torch.zeros(1, 1)] * 2
        return len(agent.critic(*inputs)), len(agent.critic_target(*inputs))

    def run_loop(self) -> StepJournal:
        """Call ``learn`` for the number of steps in the settings."""
        s, journal = self._settings, StepJournal()
        agent = self._make_agent(**(_FREQUENCIES[s.updates] if s.learns else _COLLECTING))
        journal.actions += [environment.received for environment in self._environments]
        parts = make_parts_finder(probe_agents.list_optimizers(agent))
        targets = probe_agents.find_target_critics(agent).parameters
        with journal.record_optimizer_steps(parts, agent.actor.parameters, targets):
            agent.learn(s.steps * (s.environments if s.per_environment else 1))
        row, buffer = len(self._environments[0].received) - 1, agent.replay_buffer
        journal.stored_rows = buffer.size()
        journal.stored_action, journal.stored_reward = (
            float(np.ravel(rows[row])[0]) for rows in (buffer.actions, buffer.rewards)
        )
        return journal

    def _make_default_agent(self) -> Any:
        s = self._settings
        environment = Scripted(s.low, s.high, observation_dimensions=s.observations)
        return probe_agents.make_agent(self._algorithm_class, environment, buffer_size=8)

    def describe_architecture(self) -> np.ndarray:
        agent = self._make_default_agent()
        # The trunk of SAC's actor has no output layer in it: its heads stand beside it.
        policy_widths = [layer.out_features for layer in list_linear_layers(agent.actor)]
        values = [layer.out_features for layer in list_linear_layers(agent.critic.q_networks[0])]
        hidden = [[width for width in policy_widths if width > 1], values[:-1]]
        policy = {id(p) for p in agent.actor.parameters()}
        shared = any(id(p) in policy for p in agent.critic.parameters())
        activation = layers.measure_activation(agent.actor, agent.actor)
        return layers.describe_networks_as_numbers(
            hidden, len(agent.critic.q_networks), activation, shared
        )

    def measure_initialisation(self) -> np.ndarray:
        first = self._make_default_agent().critic.q_networks[0][0]
        return layers.measure_initialisation(first.weight, first.bias)

    def read_log10_adam_eps(self) -> list[float]:
        agent = self._make_default_agent()
        parameters = {"critic": agent.critic.parameters(), "actor": agent.actor.parameters()}
        if hasattr(agent, "log_ent_coef"):
            parameters["temperature"] = [agent.log_ent_coef]
        optimizers = probe_agents.list_optimizers(agent)
        return [layers.read_log10_adam_eps(o, parameters[part]) for part, o in optimizers.items()]


class _ToDouble(nn.Module):
    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features.double()

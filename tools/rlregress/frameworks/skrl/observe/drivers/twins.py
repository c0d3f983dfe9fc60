"""Driver of SAC, TD3 and DDPG: their own ``update``, and training by the trainer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import (
    MODELS,
    NEVER,
    AgentSetup,
    Layers,
    call_after_model,
    fix_zero_action_and_log_prob,
    make_noise_settings,
)
from rlregress.frameworks.skrl.observe.drivers import instantiated
from rlregress.measurements.twin_agents import Settings
from rlregress.probing import layers
from rlregress.probing.driven import (
    fill_networks_and_targets,
    fill_parameters,
    read_parameter_of_each_target,
)
from rlregress.probing.heads import fix_draws_of_normal_distributions
from rlregress.probing.isolation import shift_seed
from rlregress.probing.journal import StepJournal, make_parts_finder, run_and_record_steps
from rlregress.probing.layers import (
    find_last_linear_layer,
    list_linear_layers,
    list_optimized_parameters,
    make_output_constant,
)
from rlregress.probing.scripted import Scripted
from rlregress.probing.single_updates import ACTION, NOW, THEN, UpdateDriver

#: what is in every row of a memory that an update reads
_STORED = {"observations": NOW, "next_observations": THEN, "actions": ACTION}
_SETTINGS = {"discount": "discount_factor", "coefficient": "polyak"}
_OF_ALGORITHM: dict[str, dict[str, str]] = {
    "sac": {"target_entropy": "target_entropy"},
    "td3": {"delay": "policy_delay", "smoothing_bound": "smooth_regularization_clip"},
    "ddpg": {},
}
#: there is no setting for fewer
_UPDATES: dict[str, dict[str, Any]] = {"more": {"gradient_steps": 2}}


class Driver(UpdateDriver):
    """An agent with small networks (see ``twin_agents.TwinDriver``).

    Args:
        algorithm: "sac", "td3" or "ddpg".
        layers: of its networks.
    """

    shares_rate = False

    def __init__(self, algorithm: str, settings: Settings, layers: Layers = Layers()) -> None:  # noqa: B008 - a tuple
        self._kind, self._settings, self._layers = algorithm, settings, layers
        self._critics = [name for name in MODELS[algorithm] if name.startswith("critic")]
        self._targets = [f"target_{name}" for name in self._critics]

    def _make_training(self, **arguments: Any) -> AgentSetup:
        s = self._settings
        names = {**_SETTINGS, **_OF_ALGORITHM[self._kind]}
        settings = {**s.map_to_framework_names(**names), **arguments}
        if self._kind == "sac" and s.temperature is not None:
            settings["initial_entropy_value"] = float(s.temperature)
            settings["learn_entropy"] = s.trained_temperature
        if s.rates is not None:
            critic, policy = s.rates
            # of the policy, the Q networks and the temperature
            rates = (policy, critic, policy) if self._kind == "sac" else (policy, critic)
            settings["learning_rate"] = rates
        if s.noise:
            # of a deviation of 0 PyTorch makes no distribution
            settings.update(make_noise_settings("exploration_noise", mean=s.noise, std=1e-9))
        if s.deviation is not None:
            settings.update(make_noise_settings("exploration_noise", std=s.deviation))
        smoothing = 0.2 if s.smooths else s.smoothing
        if smoothing:
            settings.update(make_noise_settings("smooth_regularization_noise", std=smoothing))
        flags: dict[str, Any] = {"terminated": s.terminated, "truncated": s.truncated}
        environments = [
            Scripted(s.low, s.high, rewards=s.reward, **flags) for _ in range(s.environments)
        ]
        settings = {"batch_size": s.batch_size, **settings}
        training = AgentSetup(self._kind, *environments, layers=self._layers, **settings)
        model = training.models["policy"]
        if s.log_prob is not None and self._kind == "sac":
            fix_zero_action_and_log_prob(model, s.log_prob)
        if s.pre_tanh is not None:
            make_output_constant(model, s.pre_tanh)
            if self._kind == "sac":
                fill_parameters([model.log_std], -20.0)
        if s.weight is not None:
            fill_parameters(
                [find_last_linear_layer(training.models[name]).weight for name in self._critics],
                s.weight,
            )
        return training

    def _make_training_with_minibatch(self, **arguments: Any) -> AgentSetup:
        """Return a training that has stored a minibatch, with equal observations and actions."""
        settings = {"learning_rate": 0.0, "learning_starts": NEVER}
        training = self._make_training(**{**settings, **arguments})
        training.run_steps(self._settings.batch_size)
        for name, number in _STORED.items():
            fill_parameters([training.read_stored_tensor(name)], number)
        return training

    def run_update(self, prepare: Callable[[Any], Any], part: str) -> StepJournal:
        training = self._make_training_with_minibatch()
        prepare(training)
        return run_and_record_steps(training.update_once, training.optimizers)

    def list_q_networks(self, agent: Any, are_targets: bool = False) -> Sequence[nn.Module]:
        names = self._targets if are_targets else self._critics
        return [agent.models[name].net for name in names]

    def evaluate(self, network: Any, observation: float, action: float) -> torch.Tensor:
        return network(torch.tensor([[observation, action]]))

    def act(self, agent: Any, observation: float, by_target: bool = False) -> float:
        # the policy that reports a log-probability does 0
        if self._kind == "sac":
            return 0.0
        inputs = {compat.OBSERVATIONS: torch.full((1, 1), observation)}
        model = agent.models["target_policy" if by_target else "policy"]
        return float(model.compute_outputs(inputs)[0].detach())

    def compute_temperature_loss_and_gradient(self) -> tuple[float, float]:
        trainings: list[AgentSetup] = []
        loss = self.run_update(trainings.append, "temperature").get_only_loss("temperature")
        return loss, float(trainings[0].agent.log_entropy_coefficient.grad)

    def read_temperature(self) -> float:
        return float(self._make_training().agent.log_entropy_coefficient.detach().exp())

    def read_target_entropy(self) -> float:
        return float(self._make_training().agent._target_entropy)

    def _make_standard_policy(self) -> Any:
        """Return a policy in float64 of mean 0 and deviation 1."""
        policy = self._make_training().models["policy"].double()
        make_output_constant(policy, 0.0)
        return policy

    def compute_log_deviation(self, outputs: Sequence[float]) -> np.ndarray:
        policy, deviations = self._make_standard_policy(), []
        for output in outputs:
            fill_parameters([policy.log_std], output)
            _act_with_draw(policy, [0.0])
            deviations.append(float(policy.distribution(role="policy").stddev.log()))
        return np.array(deviations)

    def compute_log_prob(self, draw: Sequence[float]) -> float:
        return float(compat.read_log_prob(_act_with_draw(self._make_standard_policy(), draw)))

    def compute_smoothed_actions(
        self, squashed: float, samples: int, draw_per_sample: bool
    ) -> np.ndarray:
        """Return the actions that the target critics receive; every sample has its own draw."""
        torch.manual_seed(shift_seed(self._settings.seed))
        # as many samples as are asked for, of a few rows
        training = self._make_training_with_minibatch(
            memory={"replacement": True}, batch_size=samples
        )
        inside = np.clip(squashed, -1.0 + 1e-12, 1.0 - 1e-12)
        make_output_constant(training.models["target_policy"], np.arctanh(inside))
        recorded: list[np.ndarray] = []
        call_after_model(
            training.models[self._targets[0]],
            lambda inputs, _: recorded.append(inputs["taken_actions"].double().numpy().copy()),
        )
        training.update_once()
        (actions,) = recorded
        return actions

    def update_and_read_targets(
        self, source: Sequence[float], target: Sequence[float]
    ) -> np.ndarray:
        training = self._make_training_with_minibatch()
        models = training.models
        names = [name for name in (*self._critics, "policy") if f"target_{name}" in models]
        pairs = [(models[name], models[f"target_{name}"]) for name in names]
        fill_networks_and_targets(pairs, source, target)
        training.update_once()
        return read_parameter_of_each_target(pairs)

    def count_q_networks_and_targets(self) -> tuple[int, int]:
        training = self._make_training()
        modules = training.agent.checkpoint_modules
        targets = [name for name in modules if "target" in name and "critic" in name]
        return count_trained_critics(training), len(targets)

    def run_loop(self) -> StepJournal:
        """Run a training for the steps of the settings."""
        s, journal = self._settings, StepJournal()
        starts = s.starts or 0
        settings = {"random_timesteps": starts, "learning_starts": starts if s.learns else NEVER}
        training = self._make_training(**settings, **_UPDATES.get(s.updates, {}))
        journal.actions += [environment.received for environment in training.environments]
        parts, policy = make_parts_finder(training.optimizers), training.models["policy"]
        with journal.record_optimizer_steps(
            parts, policy.parameters, partial(self.list_target_parameters, training)
        ):
            training.run_steps(s.steps)
        row = training.environments[0].received
        journal.stored_rows = len(training.memory)
        journal.stored_action, journal.stored_reward = (
            float(training.read_stored_tensor(name)[len(row) - 1].flatten()[0])
            for name in ("actions", "rewards")
        )
        return journal

    def _make_instantiated_settings(self) -> instantiated.Settings:
        s = self._settings
        return instantiated.Settings(s.hidden, s.activation, s.observations, np.size(s.low))

    def describe_architecture(self) -> np.ndarray:
        created = self._make_instantiated_settings()
        policy, values = (
            created.make_policy(stochastic=self._kind == "sac"),
            created.make_value_model(),
        )
        hidden = [
            [layer.out_features for layer in list_linear_layers(own)[:-1]]
            for own in (policy, values)
        ]
        outputs = layers.measure_activation(policy, instantiated.make_act_function(policy))
        return layers.describe_networks_as_numbers(
            hidden, count_trained_critics(self._make_training()), outputs, False
        )

    def measure_initialisation(self) -> np.ndarray:
        first = list_linear_layers(self._make_instantiated_settings().make_value_model())[0]
        return layers.measure_initialisation(first.weight, first.bias)

    def read_log10_adam_eps(self) -> list[float]:
        training = self._make_training()
        critics = [p for name in self._critics for p in training.models[name].parameters()]
        parameters = {"critic": critics, "actor": [*training.models["policy"].parameters()]}
        if "temperature" in training.optimizers:
            parameters["temperature"] = [training.agent.log_entropy_coefficient]
        return [
            layers.read_log10_adam_eps(training.optimizers[part], own)
            for part, own in parameters.items()
        ]


def _act_with_draw(policy: Any, draw: Sequence[float]) -> Any:
    """Return the results of a policy's ``act`` if its sample has this standard normal draw."""
    called = instantiated.make_act_function(policy)
    with torch.no_grad(), fix_draws_of_normal_distributions([draw]):
        return called(torch.zeros(1, 1, dtype=torch.float64))


def count_trained_critics(training: AgentSetup) -> int:
    """Return how many Q networks the optimiser of an agent's critics trains."""
    optimized = {id(p) for p in list_optimized_parameters(training.optimizers["critic"])}
    names = [name for name in training.models if name.startswith("critic")]
    return sum(id(next(training.models[name].parameters())) in optimized for name in names)

"""SAC and TD3, driven: their own ``update``, and training by the trainer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from skrl.resources.noises.torch import GaussianNoise

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import NEVER, Layers, Training, report_log_prob, watch_model
from rlregress.frameworks.skrl.observe.drivers import instantiated
from rlregress.frameworks.skrl.observe.drivers.ddpg import constant_noise
from rlregress.measurements.twin_agents import Settings
from rlregress.measurements.twin_details import FROZEN
from rlregress.probing import layers, watched_updates
from rlregress.probing.driven import fill_pairs, fill_parameters, parameters_of_targets
from rlregress.probing.isolation import shift_seed
from rlregress.probing.journal import Recorder, make_parts
from rlregress.probing.layers import last_linear_layer, linear_layers, make_constant, make_pinned
from rlregress.probing.scripted import Scripted

CRITICS = ("critic_1", "critic_2")
_TARGETS = tuple(f"target_{name}" for name in CRITICS)
#: what is in every row of a memory that an update reads
_OBSERVATION, _NEXT, _ACTION = 0.5, -0.5, 0.25
_STORED = {"observations": _OBSERVATION, "next_observations": _NEXT, "actions": _ACTION}
_SETTINGS = {
    "discount": "discount_factor",
    "coefficient": "polyak",
}
_OF_SAC = {"target_entropy": "target_entropy"}
_OF_TD3 = {"delay": "policy_delay", "smoothing_bound": "smooth_regularization_clip"}
#: there is no setting for fewer
_UPDATES: dict[str, dict[str, Any]] = {"more": {"gradient_steps": 2}}


class Driver:
    """An agent with small networks (see ``twin_agents.TwinDriver``).

    Args:
        kind: "sac" or "td3".
        layers: of its networks.
    """

    shares_rate = False

    def __init__(self, kind: str, settings: Settings, layers: Layers = Layers()) -> None:  # noqa: B008 - a tuple
        self._kind, self._settings, self._layers = kind, settings, layers

    def _rates(self) -> Any:
        critic, policy = self._settings.rates or FROZEN
        # of the policy, the Q networks and the temperature
        return (policy, critic, policy) if self._kind == "sac" else (policy, critic)

    def _make_training(self, **arguments: Any) -> Training:
        s = self._settings
        own = _OF_SAC if self._kind == "sac" else _OF_TD3
        settings = {**s.named(**_SETTINGS, **own), **arguments}
        if self._kind == "sac" and s.temperature is not None:
            settings["initial_entropy_value"] = float(s.temperature)
            settings["learn_entropy"] = s.trained_temperature
        if s.rates is not None:
            settings["learning_rate"] = self._rates()
        if s.noise:
            settings.update(constant_noise(s.noise))
        if s.deviation is not None:
            settings.update(_noise("exploration_noise", s.deviation))
        smoothing = 0.2 if s.smooths else s.smoothing
        if smoothing:
            settings.update(_noise("smooth_regularization_noise", smoothing))
        flags: dict[str, Any] = {"terminated": s.terminated, "truncated": s.truncated}
        environments = [
            Scripted(s.low, s.high, rewards=s.reward, **flags) for _ in range(s.environments)
        ]
        settings = {"batch_size": s.batch_size, **settings}
        training = Training(self._kind, *environments, layers=self._layers, **settings)
        policy = training.models["policy"]
        if s.log_prob is not None and self._kind == "sac":
            report_log_prob(policy, s.log_prob)
        if s.pre_tanh is not None:
            make_constant(policy, s.pre_tanh)
            if self._kind == "sac":
                fill_parameters([policy.log_std], -20.0)
        if s.weight is not None:
            fill_parameters(
                [last_linear_layer(training.models[name]).weight for name in CRITICS], s.weight
            )
        return training

    def _fed(self, **arguments: Any) -> Training:
        """Return a training that has stored a minibatch, with equal observations and actions."""
        settings = {"learning_rate": 0.0, "learning_starts": NEVER}
        training = self._make_training(**{**settings, **arguments})
        training.run(self._settings.batch_size)
        for name, number in _STORED.items():
            fill_parameters([training.stored(name)], number)
        return training

    def _acted(self, training: Training, name: str, observation: float) -> float:
        # the policy that reports a log-probability does 0
        if self._kind == "sac":
            return 0.0
        inputs = {compat.OBSERVATIONS: torch.full((1, 1), observation)}
        return float(training.models[name].outputs(inputs)[0].detach())

    def _loss(self, training: Training, part: str) -> float:
        losses = watched_updates.run_and_record_losses(training.update, training.optimizers)
        return watched_updates.require_one_number(losses[part])

    def critic_loss(self, values: Sequence[float]) -> float:
        training = self._fed()
        _pin(training, CRITICS, _OBSERVATION, _ACTION, values)
        return self._loss(training, "critic")

    def actor_loss(self, values: Sequence[float]) -> float:
        training = self._fed()
        actions = self._acted(training, "policy", _OBSERVATION)
        _pin(training, CRITICS, _OBSERVATION, actions, values)
        return self._loss(training, "actor")

    def target(self, values: Sequence[float]) -> float:
        training = self._fed()
        _pin(training, _TARGETS, _NEXT, self._acted(training, "target_policy", _NEXT), values)
        return watched_updates.run_and_find_target(training.update)

    def first_update(self, target_value: float) -> tuple[float, float]:
        training = self._fed(learning_rate=self._rates())
        _pin(training, _TARGETS, _NEXT, 0.0, [target_value] * 2)
        for name in CRITICS:
            fill_parameters(training.models[name].parameters(), 0.0)
        losses: list[float] = []
        target = watched_updates.run_and_find_target(
            lambda: losses.append(self._loss(training, "actor"))
        )
        return target, losses[0]

    def temperature_loss(self) -> tuple[float, float]:
        training = self._fed()
        loss = self._loss(training, "temperature")
        return loss, float(training.agent.log_entropy_coefficient.grad)

    def temperature(self) -> float:
        return float(self._make_training().agent.log_entropy_coefficient.detach().exp())

    def target_entropy(self) -> float:
        return float(self._make_training().agent._target_entropy)

    def _standard_policy(self) -> Any:
        """Return a policy in float64 of mean 0 and deviation 1."""
        policy = self._make_training().models["policy"].double()
        make_constant(policy, 0.0)
        return policy

    def log_deviation(self, outputs: Sequence[float]) -> np.ndarray:
        policy, deviations = self._standard_policy(), []
        for output in outputs:
            fill_parameters([policy.log_std], output)
            _act_with_draw(policy, [0.0])
            deviations.append(float(policy.distribution(role="policy").stddev.log()))
        return np.array(deviations)

    def log_prob(self, draw: Sequence[float]) -> float:
        return float(compat.log_prob(_act_with_draw(self._standard_policy(), draw)))

    def smoothed_actions(self, squashed: float, samples: int, own_draws: bool) -> np.ndarray:
        """Return the actions that the target critics receive; every sample has its own draw."""
        torch.manual_seed(shift_seed(self._settings.seed))
        # as many samples as are asked for, of a few rows
        training = self._fed(memory={"replacement": True}, batch_size=samples)
        inside = np.clip(squashed, -1.0 + 1e-12, 1.0 - 1e-12)
        make_constant(training.models["target_policy"], np.arctanh(inside))
        recorded: list[np.ndarray] = []
        watch_model(
            training.models["target_critic_1"],
            lambda inputs, _: recorded.append(inputs["taken_actions"].double().numpy().copy()),
        )
        training.update()
        (actions,) = recorded
        return actions

    def update_target(self, source: Sequence[float], target: Sequence[float]) -> np.ndarray:
        training = self._fed()
        models = training.models
        names = [name for name in (*CRITICS, "policy") if f"target_{name}" in models]
        pairs = [(models[name], models[f"target_{name}"]) for name in names]
        fill_pairs(pairs, source, target)
        training.update()
        return parameters_of_targets(pairs)

    def run(self) -> Recorder:
        """Run a training of so many steps of all environments."""
        s, journal = self._settings, Recorder()
        starts = s.starts or 0
        settings = {"random_timesteps": starts, "learning_starts": starts if s.learns else NEVER}
        training = self._make_training(**settings, **_UPDATES.get(s.updates, {}))
        journal.actions += [environment.received for environment in training.environments]
        parts, policy = make_parts(training.optimizers), training.models["policy"]
        with journal.record_steps(parts, policy.parameters, training.list_target_parameters):
            training.run(s.steps)
        row = training.environments[0].received
        journal.stored_action, journal.stored_reward = (
            float(training.stored(name)[len(row) - 1].flatten()[0])
            for name in ("actions", "rewards")
        )
        return journal

    def _instantiated(self) -> instantiated.Settings:
        s = self._settings
        return instantiated.Settings(s.hidden, s.activation, s.observations, np.size(s.low))

    def architecture(self) -> np.ndarray:
        created = self._instantiated()
        policy, values = created.policy(stochastic=self._kind == "sac"), created.values()
        hidden = [
            [layer.out_features for layer in linear_layers(own)[:-1]] for own in (policy, values)
        ]
        outputs = layers.measure_activation(policy, instantiated.make_model_function(policy))
        return layers.describe_architecture(
            hidden, count_critics(self._make_training()), outputs, False
        )

    def initialisation(self) -> np.ndarray:
        first = linear_layers(self._instantiated().values())[0]
        return layers.measure_initialisation(first.weight, first.bias)

    def log_epsilons(self) -> list[float]:
        training = self._make_training()
        critics = [p for name in CRITICS for p in training.models[name].parameters()]
        parameters = {"critic": critics, "actor": [*training.models["policy"].parameters()]}
        if "temperature" in training.optimizers:
            parameters["temperature"] = [training.agent.log_entropy_coefficient]
        return [
            layers.log_epsilon(training.optimizers[part], own) for part, own in parameters.items()
        ]


def _noise(name: str, deviation: float) -> dict[str, Any]:
    spread = {"mean": 0.0, "std": deviation, "device": "cpu"}
    return {name: GaussianNoise, f"{name}_kwargs": spread}


def _pin(
    training: Training, names: Sequence[str], observation: float, action: float, values: Any
) -> None:
    inputs = torch.tensor([[observation, action]])
    for name, number in zip(names, values, strict=False):
        net = training.models[name].net
        make_pinned(net, partial(net, inputs), number)


def _act_with_draw(policy: Any, draw: Sequence[float]) -> Any:
    """Return the results of ``act`` where the normal distribution draws these numbers."""
    numbers = torch.as_tensor(np.asarray(draw), dtype=torch.float64)[None]
    called = instantiated.make_model_function(policy)
    sample = mock.patch.object(
        torch.distributions.Normal, "rsample", lambda normal: normal.loc + numbers
    )
    with torch.no_grad(), sample:
        return called(torch.zeros(1, 1, dtype=torch.float64))


def count_critics(training: Training) -> int:
    """Return how many Q networks its optimiser trains."""
    optimized = {
        id(p) for group in training.optimizers["critic"].param_groups for p in group["params"]
    }
    names = [name for name in training.models if name in CRITICS]
    return sum(id(next(training.models[name].parameters())) in optimized for name in names)

"""Stable-Baselines3 trainings: the framework's own ``learn``, watched by a callback."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from stable_baselines3 import DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import NormalActionNoise

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.library import silence_agent
from rlregress.probing.heads import (
    Heads,
    call_prepare_with_heads,
    fix_draws_of_normal_distributions,
    make_deviation_setter_of_layer,
    make_deviation_setter_of_parameter,
)
from rlregress.probing.hyperparameter_mapping import (
    convert_exploration_steps_to_fraction,
    raise_if_unusable,
    split_off_fixed_hyperparameters,
)
from rlregress.probing.interface import PendingCheckpoints, Policy, Trained, TrainingRequest
from rlregress.probing.layers import find_last_linear_layer
from rlregress.probing.seeded_training import copy_tensors_to_arrays

ALGORITHMS = {"ppo": PPO, "sac": SAC, "td3": TD3, "dqn": DQN, "ddpg": DDPG}


@dataclass(frozen=True)
class Library:
    """The library whose algorithms are trained: Stable-Baselines3, or one that extends it.

    Attributes:
        title: of the library.
        algorithms: algorithm -> class.
        networks: algorithm -> further arguments of its policy.
    """

    title: str = "Stable-Baselines3"
    algorithms: Mapping[str, Any] = field(default_factory=lambda: ALGORITHMS)
    networks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def make_agent(
        self, algorithm: str, environment: Any, policy: str = "", **arguments: Any
    ) -> Any:
        """Make an agent in its environments, on the CPU, that logs to nowhere."""
        kind = self.algorithms[algorithm]
        policy = policy or compat.name_policy_of_dense_layers(kind, environment)
        return silence_agent(kind(policy, environment, device="cpu", **arguments))


OWN = Library()

#: hyperparameter (Tables 6 to 8 of the thesis) -> keyword argument
_SHARED = {"learning_rate": "learning_rate", "minibatch_size": "batch_size", "discount": "gamma"}
_OFF_POLICY = {
    **_SHARED,
    "replay_size": "buffer_size",
    "learning_starts": "learning_starts",
    "polyak_coefficient": "tau",
    "steps_per_collection": "train_freq",
    "updates_per_collection": "gradient_steps",
}
ARGUMENTS = {
    "ppo": {
        **_SHARED,
        "rollout_steps": "n_steps",
        "epochs": "n_epochs",
        "gae_lambda": "gae_lambda",
        "clip_range": "clip_range",
        "value_clip_range": "clip_range_vf",
        "normalize_advantage": "normalize_advantage",
        "entropy_coefficient": "ent_coef",
        "value_coefficient": "vf_coef",
        "max_gradient_norm": "max_grad_norm",
        "target_kl": "target_kl",
    },
    "sac": {
        **_OFF_POLICY,
        "target_update_interval": "target_update_interval",
        "target_entropy": "target_entropy",
    },
    "td3": {
        **_OFF_POLICY,
        "policy_delay": "policy_delay",
        "target_noise": "target_policy_noise",
        "target_noise_clip": "target_noise_clip",
    },
    "ddpg": _OFF_POLICY,
    "dqn": {
        **_OFF_POLICY,
        "target_update_interval": "target_update_interval",
        "max_gradient_norm": "max_grad_norm",
        "exploration_initial": "exploration_initial_eps",
        "exploration_final": "exploration_final_eps",
        "exploration_fraction": "exploration_fraction",
    },
}


#: what no argument sets: (algorithm, hyperparameter) -> value
_FIXED = {
    ("ppo", "value_loss"): "l2",
    ("sac", "critic_loss"): "l2",
    ("sac", "policy_delay"): 1,
    # policy_kwargs reach the optimisers of actor and critics, and not that of the temperature
    ("sac", "adam_epsilon"): 1e-8,
    ("td3", "critic_loss"): "l2",
}


def _make_linear_schedule(initial: float):
    return lambda progress_remaining: max(progress_remaining, 0.0) * initial


def convert_hyperparameters_to_arguments(
    algorithm: str, hyperparameters: Mapping[str, Any], action_shape, library: Library = OWN
) -> dict[str, Any]:
    """Return class arguments that set hyperparameters; UserError for those that it lacks."""
    settings, reasons = split_off_fixed_hyperparameters(_FIXED, algorithm, hyperparameters)
    policy: dict[str, Any] = {"net_arch": list(settings.pop("hidden_sizes"))}
    policy.update(library.networks.get(algorithm, {}))
    arguments: dict[str, Any] = {"policy_kwargs": policy}
    if "adam_epsilon" in settings:
        policy["optimizer_kwargs"] = {"eps": settings.pop("adam_epsilon")}
    if algorithm == "ppo" and settings.pop("anneal_learning_rate"):
        settings["learning_rate"] = _make_linear_schedule(settings["learning_rate"])
    if algorithm == "sac":
        tuned = settings.pop("tune_temperature", True)
        constant = settings.pop("fixed_temperature", None)
        initial = f"auto_{float(settings.pop('initial_temperature'))}"
        arguments["ent_coef"] = initial if tuned else constant
        reasons += [
            f"it has one learning rate, but {rate} {settings[rate]} differs from learning_rate "
            f"{settings['learning_rate']}"
            for rate in ("critic_learning_rate", "temperature_learning_rate")
            if settings[rate] != settings["learning_rate"]
        ]
        del settings["critic_learning_rate"], settings["temperature_learning_rate"]
    if algorithm in ("td3", "ddpg"):
        deviation = settings.pop("exploration_noise")
        if deviation is not None:
            zeros = np.zeros(action_shape, dtype=np.float32)
            arguments["action_noise"] = NormalActionNoise(
                mean=zeros, sigma=zeros + float(deviation)
            )
    if "max_gradient_norm" in settings and settings["max_gradient_norm"] is None:
        settings["max_gradient_norm"] = math.inf  # it always clips; at infinity nothing is changed
    names = ARGUMENTS[algorithm]
    algorithm_class = library.algorithms[algorithm]
    title = f"{library.title}'s {algorithm_class.__name__}"
    raise_if_unusable(title, reasons, settings.keys() - names)
    arguments.update({names[key]: value for key, value in settings.items()})
    return compat.convert_arguments_of_algorithm(algorithm_class, **arguments)


#: diagnostic -> what the logger calls it, and its sign there
_LOGGED = {
    "ppo": {"entropy": ("train/entropy_loss", -1.0), "kl": ("train/approx_kl", 1.0)},
    # the entropy of SAC's policy is in no log
    "sac": {"temperature": ("train/ent_coef", 1.0)},
}


class _TrainingCallback(BaseCallback):
    """A callback that calls ``on_checkpoint`` once per passed checkpoint, and records the log.

    Attributes:
        diagnostics: see ``Trained``.
    """

    def __init__(self, request: TrainingRequest) -> None:
        super().__init__()
        self._request = request
        self._passing = PendingCheckpoints(request.checkpoints)
        self._logged = _LOGGED.get(request.algorithm, {})
        self._continues = False
        self.diagnostics: dict[str, list[float]] = {name: [] for name in self._logged}

    def continue_from_record(self, steps: int, diagnostics: dict[str, list[float]]) -> None:
        """Continue the record of an interrupted training that had done ``steps`` steps."""
        self._continues, self.diagnostics = True, diagnostics
        self._passing = PendingCheckpoints(self._request.checkpoints, steps)

    def _on_rollout_start(self) -> None:
        if self._continues:
            # this is where it was kept: the values of the logger are noted already
            self._continues = False
            return
        self._note_diagnostics()
        # everything is in the model, and ``learn`` goes on with one that was trained before
        self._request.keep(self.num_timesteps, (self.model, self.diagnostics))

    def _note_diagnostics(self) -> None:
        # before the next rollout the logger holds what the last updates have told it
        for name, (key, sign) in self._logged.items():
            if key in self.logger.name_to_value:
                self.diagnostics[name].append(sign * float(self.logger.name_to_value[key]))

    def _on_training_end(self) -> None:
        self._note_diagnostics()

    def _on_step(self) -> bool:
        if self._passing.drop_passed(self.num_timesteps):
            self._request.on_checkpoint(self.num_timesteps, make_policy_function(self.model))
        return True


def make_policy_function(model) -> Policy:
    """Return the deterministic policy of an agent, as a function: observations -> actions."""
    return lambda observations: model.predict(observations, deterministic=True)[0]


def _make_initial_memory(policy: Any, rows: int, for_values: bool = False) -> dict[str, Any]:
    """Return what a recurrent policy takes beside ``rows`` observations that start episodes."""
    if not hasattr(policy, "lstm_actor"):
        return {}
    size = (policy.lstm_actor.num_layers, rows, policy.lstm_actor.hidden_size)
    nothing = (torch.zeros(size), torch.zeros(size))
    states = nothing if for_values else SimpleNamespace(pi=nothing, vf=nothing)
    return {"lstm_states": states, "episode_starts": torch.ones(rows)}


def _make_value_function(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    def estimate_values(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            tensor = compat.convert_to_policy_tensor(model.policy, observations)
            if hasattr(model.policy, "value_net"):
                compat.add_current_methods_to_policy(model.policy)
                memory = _make_initial_memory(model.policy, len(tensor), for_values=True)
                return model.policy.predict_values(tensor, **memory).numpy().reshape(-1)
            if not hasattr(model, "actor"):
                # values of actions [rows, actions], or their quantiles [rows, quantiles, actions]
                outputs = _find_action_value_networks(model)[0](tensor)
                by_quantile = outputs.reshape(len(outputs), -1, outputs.shape[-1])
                return by_quantile.mean(1).amax(1).numpy()
            actions = model.policy.scale_action(model.predict(observations, deterministic=True)[0])
            values = model.critic(tensor, torch.as_tensor(actions))
            if isinstance(values, torch.Tensor):
                # quantiles [rows, networks, quantiles]
                values = values.unbind(1)
            return torch.stack([critic_values.mean(1) for critic_values in values]).amin(0).numpy()

    return estimate_values


def _find_action_value_networks(model: Any) -> list[Any]:
    """Return the network of action values, and its target network."""
    return list(model.policy.children())


def find_output_layers(model: Any) -> Heads:
    """Return the output layers of an agent."""
    policy = model.policy
    if hasattr(policy, "value_net"):
        deviation = make_deviation_setter_of_parameter(policy.log_std, torch.log)
        return Heads(policy.action_net, deviation, [policy.value_net])
    if not hasattr(model, "actor"):
        layers = [find_last_linear_layer(network) for network in _find_action_value_networks(model)]
        quantiles = layers[0].out_features // int(model.action_space.n)
        return Heads(layers[0], values=layers, repeated=quantiles)
    actor = model.actor
    critics = [*model.critic.q_networks, *model.critic_target.q_networks]
    values = [find_last_linear_layer(critic) for critic in critics]
    if not hasattr(actor, "log_std"):
        return Heads(find_last_linear_layer(actor.mu), values=values)
    return Heads(
        actor.mu, make_deviation_setter_of_layer(actor.log_std, slice(None), torch.log), values
    )


def _make_drawing_function(model: Any) -> Any:
    def draw_actions(observations: np.ndarray, numbers: np.ndarray) -> Any:
        tensor = compat.convert_to_policy_tensor(model.policy, observations)
        with fix_draws_of_normal_distributions(numbers):
            if hasattr(model.policy, "value_net"):
                memory = _make_initial_memory(model.policy, len(tensor))
                actions = model.policy(tensor, **memory)[0].detach()
                return actions, model.policy.evaluate_actions(tensor, actions, **memory)[1]
            if hasattr(model.actor, "log_std"):
                return model.actor.action_log_prob(tensor)
            return model.actor(tensor), None

    return draw_actions


def make_arguments_of_request(
    request: Any, action_shape: Any, library: Library = OWN
) -> dict[str, Any]:
    """Return keyword arguments of the algorithm's class for the training that is requested."""
    hyperparameters = convert_exploration_steps_to_fraction(
        request.hyperparameters, request.total_steps
    )
    return convert_hyperparameters_to_arguments(
        request.algorithm, hyperparameters, action_shape, library
    )


def make_agent_of_request(
    request: TrainingRequest, library: Library = OWN, environment: Any = None, **further: Any
) -> Any:
    """Make the requested environment and agent as a user does, and call ``prepare``.

    Args:
        environment: the one that the agent gets; None: the requested one.
        **further: arguments of the algorithm's class beside the requested ones.
    """
    if environment is None:
        environment = gyms.convert_environment(request.make_env())
    arguments = make_arguments_of_request(request, environment.action_space.shape, library)
    arguments.update(seed=request.seed, **further)
    model = library.make_agent(request.algorithm, environment, **arguments)
    call_prepare_with_heads(request, lambda: find_output_layers(model))
    return model


def train(request: TrainingRequest, library: Library = OWN) -> Trained:
    """Train with ``learn``, exactly as a user of the framework calls it."""
    watch = _TrainingCallback(request)
    if request.kept is None:
        model = make_agent_of_request(request, library)
        model.learn(request.total_steps, callback=watch)
    else:
        model, diagnostics = request.kept
        logged = dict(model.logger.name_to_value)
        silence_agent(model)
        model.logger.name_to_value.update(logged)
        watch.continue_from_record(model.num_timesteps, diagnostics)
        steps_left = request.total_steps - model.num_timesteps
        model.learn(steps_left, callback=watch, reset_num_timesteps=False)
    return make_trained_agent(model, watch.diagnostics)


def make_trained_agent(model: Any, diagnostics: Mapping[str, list[float]]) -> Trained:
    """Return the agent of a training that has ended."""
    parameters = dict(copy_tensors_to_arrays(model.policy.state_dict()))
    if getattr(model, "log_ent_coef", None) is not None:
        parameters["log_ent_coef"] = model.log_ent_coef.detach().numpy().copy()
    return Trained(
        make_policy_function(model),
        _make_value_function(model),
        parameters,
        model.num_timesteps,
        diagnostics,
        _make_drawing_function(model),
    )

"""CleanRL trainings: the user's own script, unmodified, run to its end and watched step by step."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

from rlregress.errors import UserError
from rlregress.frameworks.cleanrl import read
from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.frameworks.cleanrl.script_sources import Source
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

_OFF_POLICY = ("sac", "td3", "ddpg")
_SHARING_RATE = ("critic", "temperature")
#: what no argument sets: (algorithm, hyperparameter) -> value
_FIXED = {
    ("ppo", "hidden_sizes"): [64, 64],
    ("ppo", "adam_epsilon"): 1e-5,
    ("ppo", "value_loss"): "l2",
    ("sac", "initial_temperature"): 1.0,
    ("sac", "target_entropy"): "auto",
    ("dqn", "hidden_sizes"): [120, 84],
    **{(algorithm, "hidden_sizes"): [256, 256] for algorithm in _OFF_POLICY},
    **{(algorithm, "steps_per_collection"): 1 for algorithm in _OFF_POLICY},
    **{(algorithm, "updates_per_collection"): 1 for algorithm in (*_OFF_POLICY, "dqn")},
    **{(algorithm, "adam_epsilon"): 1e-8 for algorithm in ("sac", "td3")},
    **{(algorithm, "critic_loss"): "l2" for algorithm in ("sac", "td3")},
}


def make_arguments_of_hyperparameters(
    algorithm: str, hyperparameters: Mapping[str, Any], source: Source, environments: int = 1
) -> dict[str, Any]:
    """Return the script arguments that set hyperparameters; UserError for those that it lacks."""
    settings, reasons = split_off_fixed_hyperparameters(_FIXED, algorithm, hyperparameters)
    own_flags = _make_ppo_flags(settings, environments, reasons) if algorithm == "ppo" else {}
    if algorithm == "sac":
        critics, temperature = (settings[f"{name}_learning_rate"] for name in _SHARING_RATE)
        if temperature != critics:
            reasons.append(
                "it has one learning rate for critics and temperature, but "
                f"temperature_learning_rate {temperature} differs from critic_learning_rate "
                f"{critics}"
            )
    if algorithm in ("td3", "ddpg") and "exploration_noise" in settings:
        settings["exploration_noise"] = settings["exploration_noise"] or 0.0
    flags = read.map_hyperparameters_to_own_names(source)[algorithm, "script"]
    title = f"CleanRL's {read.name_script(algorithm)}.py"
    raise_if_unusable(title, reasons, settings.keys() - flags)
    own_flags.update({flags[name]: value for name, value in settings.items()})
    return own_flags


def _make_ppo_flags(
    settings: dict[str, Any], environments: int, reasons: list[str]
) -> dict[str, Any]:
    """Take from the settings those that the script has no flag of the same meaning for."""
    size, batch = settings.pop("minibatch_size"), settings["rollout_steps"] * environments
    number = max(batch // size, 1)
    if batch // number != size:
        reasons.append(
            f"it divides {batch} steps into {number} minibatches of {batch // number}, not of "
            f"{size}: a minibatch_size has to divide the steps of a rollout"
        )
    clip = settings.pop("value_clip_range")
    if clip not in (None, settings["clip_range"]):
        reasons.append(
            f"it clips values by its clip_range {settings['clip_range']} or not at all, found "
            f"value_clip_range {clip}"
        )
    if settings.get("max_gradient_norm", 0.0) is None:
        # the script always clips: by infinity it multiplies gradients by one
        settings["max_gradient_norm"] = math.inf
    return {"num_minibatches": number, "clip_vloss": clip is not None}


def compute_total_timesteps_of_script(request: TrainingRequest, environments: int = 1) -> int:
    """Return ``total_timesteps`` with which the script does at least the requested steps.

    PPO's script drops an incomplete rollout. The off-policy scripts count one step of all
    environments as one.
    """
    unit = environments
    if request.algorithm == "ppo":
        unit *= request.hyperparameters["rollout_steps"]
    units = -(-request.total_steps // unit)
    return units * unit if request.algorithm == "ppo" else units


# -- what has been learned ---------------------------------------------------------------------


def list_wrappers_of_environment(environment: Any) -> list[Any]:
    """Return the wrappers that the script has put around an environment, the innermost first."""
    layers = []
    while isinstance(environment, gymnasium.Wrapper):
        layers.append(environment)
        environment = environment.env
    return layers[::-1]


def _make_normalising_function(wrapper: Any) -> Callable[[np.ndarray], np.ndarray]:
    # copies, as the training continues to change the wrapper's own
    mean, variance = copy.deepcopy((wrapper.obs_rms.mean, wrapper.obs_rms.var))
    return lambda observation: (observation - mean) / np.sqrt(variance + wrapper.epsilon)


def make_observation_map(environment: Any) -> Callable[[np.ndarray], torch.Tensor]:
    """Return a function: observations of the bare environment -> inputs of the script's network.

    It applies the script's own wrappers, in their order, with their present statistics.
    """
    steps: list[Callable[[Any], Any]] = []
    for wrapper in list_wrappers_of_environment(environment):
        if isinstance(wrapper, gymnasium.wrappers.NormalizeObservation):
            steps.append(_make_normalising_function(wrapper))
        elif isinstance(wrapper, gymnasium.ObservationWrapper):
            steps.append(wrapper.observation)

    return lambda observations: torch.as_tensor(
        _change_rows(observations, steps), dtype=torch.float32
    )


def _make_action_map(environment: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function: actions of the script's network -> actions of the bare environment."""
    wrappers = reversed(list_wrappers_of_environment(environment))
    steps = [own.action for own in wrappers if isinstance(own, gymnasium.ActionWrapper)]
    return lambda actions: _change_rows(actions, steps)


def _change_rows(rows: np.ndarray, steps: Sequence[Callable[[Any], Any]]) -> np.ndarray:
    """Return the rows after all steps, each of which changes one row."""
    return np.stack([functools.reduce(lambda row, step: step(row), steps, row) for row in rows])


def _make_deterministic_policy(run: ScriptRun) -> Callable[[torch.Tensor], torch.Tensor]:
    if "agent" in run:
        return run["agent"].actor_mean
    if "q_network" in run:
        return lambda observations: run["q_network"](observations).argmax(1)
    actor = run["actor"]
    if not hasattr(actor, "get_action"):
        return actor

    def compute_mean_actions(observations: torch.Tensor) -> torch.Tensor:
        # the method also draws an action: the training must not miss those numbers
        with torch.random.fork_rng(devices=[]):
            return actor.get_action(observations)[2]

    return compute_mean_actions


def make_policy_function(run: ScriptRun, environment: Any = None) -> Policy:
    """Return the deterministic policy, with the observation statistics of this moment.

    Args:
        environment: whose wrappers it applies; None: the first of the script.
    """
    environment = run["envs"].envs[0] if environment is None else environment
    observe, act = make_observation_map(environment), _make_action_map(environment)
    network = _make_deterministic_policy(run)

    def choose_actions(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return act(network(observe(observations)).numpy())

    return choose_actions


def _read_divisor_of_rewards(environment: Any) -> float:
    """Return the number that the script divides rewards by."""
    unit = 1.0
    for wrapper in list_wrappers_of_environment(environment):
        if isinstance(wrapper, gymnasium.wrappers.NormalizeReward):
            unit *= float(np.sqrt(wrapper.return_rms.var + wrapper.epsilon))
    return unit


def _make_value_function(run: ScriptRun, environment: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the critic as a function with values in the environment's unit of reward.

    PPO's script divides rewards, so that its critic learns scaled values.
    """
    observe, unit = make_observation_map(environment), _read_divisor_of_rewards(environment)
    network = _make_deterministic_policy(run)

    def estimate_values(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            observation = observe(observations)
            if "agent" in run:
                values = run["agent"].get_value(observation)
            elif "q_network" in run:
                values = run["q_network"](observation).amax(1)
            else:
                actions = network(observation)
                critics = [run[name] for name in ("qf1", "qf2") if name in run]
                values = torch.stack([critic(observation, actions) for critic in critics]).amin(0)
            return values.numpy().reshape(-1) * unit

    return estimate_values


def _make_drawing_function(
    run: ScriptRun, environment: Any
) -> Callable[[np.ndarray, np.ndarray], Any]:
    observe = make_observation_map(environment)

    def draw_actions(observations: np.ndarray, numbers: np.ndarray) -> Any:
        tensor = observe(observations)
        with fix_draws_of_normal_distributions(numbers):
            if "agent" in run:
                actions = run["agent"].get_action_and_value(tensor)[0].detach()
                return actions, run["agent"].get_action_and_value(tensor, actions)[1]
            if not hasattr(run["actor"], "get_action"):
                return run["actor"](tensor), None
            actions, log_probs, _ = run["actor"].get_action(tensor)
            return actions, log_probs.reshape(-1)

    return draw_actions


#: what the scripts call it in their scalars -> diagnostic
_SCALARS = {"losses/entropy": "entropy", "losses/approx_kl": "kl", "losses/alpha": "temperature"}


def _read_diagnostics_of_run(run: ScriptRun) -> dict[str, list[float]]:
    diagnostics: dict[str, list[float]] = {}
    for tag, value, _ in run.scalars:
        if tag in _SCALARS:
            diagnostics.setdefault(_SCALARS[tag], []).append(value)
    return diagnostics


def _read_parameters_of_run(run: ScriptRun) -> dict[str, np.ndarray]:
    """Return all tensors in the script's networks, and the trained tensors outside of them."""
    tensors: dict[str, torch.Tensor] = {}
    inside = set()
    for name, bound in run.globals.items():
        if isinstance(bound, nn.Module):
            tensors.update({f"{name}.{key}": t for key, t in bound.state_dict().items()})
            inside |= {id(parameter) for parameter in bound.parameters()}
    for name, bound in run.globals.items():
        trained = isinstance(bound, torch.Tensor) and bound.is_leaf and bound.requires_grad
        if trained and id(bound) not in inside:
            tensors[name] = bound
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}


def _invert_deviation_by_tanh(deviation: torch.Tensor) -> torch.Tensor:
    """Return the network output for which SAC's actor, through a tanh, has this deviation."""
    return torch.atanh((deviation.log() + 5.0) / 3.5 - 1.0)


#: what the scripts call their networks of action values
_ACTION_VALUES = ("q_network", "target_network", "qf1", "qf2", "qf1_target", "qf2_target")


def find_output_layers(run: ScriptRun) -> Heads:
    """Return the output layers of a script's networks."""
    if "agent" in run:
        agent = run["agent"]
        deviation = make_deviation_setter_of_parameter(agent.actor_logstd, torch.log)
        return Heads(agent.actor_mean[-1], deviation, [agent.critic[-1]])
    values = [find_last_linear_layer(run[name]) for name in _ACTION_VALUES if name in run]
    if "q_network" in run:
        return Heads(find_last_linear_layer(run["q_network"]), values=values)
    actor = run["actor"]
    if not hasattr(actor, "fc_logstd"):
        return Heads(actor.fc_mu, values=values)
    deviation = make_deviation_setter_of_layer(
        actor.fc_logstd, slice(None), _invert_deviation_by_tanh
    )
    return Heads(actor.fc_mean, deviation, values)


def prepare_script_and_arguments(
    request: TrainingRequest, source: Source, environments: int = 1
) -> tuple[Path, dict[str, Any]]:
    """Return (path of the script, its arguments).

    Raises:
        UserError: the script was written for gym, for environments that no longer exist.
    """
    if source.for_gym:
        raise UserError(
            f"CleanRL {source.label} cannot be trained: its scripts were written for gym 0.17, "
            "expected scripts for gymnasium; set CLEANRL_HOME to a checkout of "
            "https://github.com/vwxyzjn/cleanrl (details of this version can still be probed)"
        )
    path = source.parse_script(read.name_script(request.algorithm)).path
    steps = compute_total_timesteps_of_script(request, environments)
    hyperparameters = convert_exploration_steps_to_fraction(request.hyperparameters, steps)
    arguments = make_arguments_of_hyperparameters(
        request.algorithm, hyperparameters, source, environments
    )
    arguments.update(seed=request.seed, total_timesteps=steps)
    if environments > 1:
        # not every script has this argument, nor takes any other number than 1
        arguments["num_envs"] = environments
    return path, arguments


def run_script_of_request(
    request: TrainingRequest, source: Source, environments: int = 1, **options: Any
) -> ScriptRun:
    """Run the script of a request, which may first change the output layers of its networks."""
    return run_script(
        *prepare_script_and_arguments(request, source, environments),
        make_env=request.make_env,
        on_start=lambda run: call_prepare_with_heads(request, lambda: find_output_layers(run)),
        # not restored after a checkpoint, so that tests notice one that draws random numbers
        guard_random=False,
        **options,
    )


def train(request: TrainingRequest, source: Source) -> Trained:
    """Train with the script, started with arguments as a user of CleanRL starts it.

    Checkpoints come after a step of the environment, before the script has stored it.
    """
    passing = PendingCheckpoints(request.checkpoints)

    def call_at_checkpoints(run: ScriptRun) -> None:
        if passing.drop_passed(run.steps):
            request.on_checkpoint(run.steps, make_policy_function(run))

    run = run_script_of_request(request, source, on_step=call_at_checkpoints)
    return make_trained_agent(run, run["envs"].envs[0])


def make_trained_agent(run: ScriptRun, environment: Any) -> Trained:
    """Return the agent of a run, which applies the wrappers of ``environment``."""
    return Trained(
        make_policy_function(run, environment),
        _make_value_function(run, environment),
        _read_parameters_of_run(run),
        run.steps,
        _read_diagnostics_of_run(run),
        _make_drawing_function(run, environment),
    )

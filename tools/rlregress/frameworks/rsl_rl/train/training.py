"""RSL-RL trainings: PPO by its own ``OnPolicyRunner.learn``, observed between its updates."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import GROUPS, Vectorised, make_runner
from rlregress.probing.heads import (
    Heads,
    call_prepare_with_heads,
    fix_draws_of_normal_distributions,
    make_deviation_setter_of_parameter,
)
from rlregress.probing.hyperparameter_mapping import (
    raise_if_unusable,
    split_off_fixed_hyperparameters,
)
from rlregress.probing.interface import PendingCheckpoints, Policy, Trained, TrainingRequest
from rlregress.probing.isolation import isolate_random_generators
from rlregress.probing.samples import copy_to_array, copy_to_flat_array

#: hyperparameter -> keyword of PPO
ARGUMENTS = {
    "learning_rate": "learning_rate",
    "epochs": "num_learning_epochs",
    "discount": "gamma",
    "gae_lambda": "lam",
    "clip_range": "clip_param",
    "value_coefficient": "value_loss_coef",
    "entropy_coefficient": "entropy_coef",
    "max_gradient_norm": "max_grad_norm",
    "desired_kl": "desired_kl",
    "learning_rate_schedule": "schedule",
    "normalize_advantage": "normalize_advantage_per_mini_batch",
}
#: set in another way than by a keyword with the same value
_FURTHER = {"rollout_steps", "minibatch_size", "value_clip_range", "hidden_sizes"}
#: what sets for other frameworks do not name
_OPTIONAL = {"desired_kl", "learning_rate_schedule"}
#: what no argument sets: (algorithm, hyperparameter) -> value
_FIXED = {
    ("ppo", "anneal_learning_rate"): False,
    ("ppo", "target_kl"): None,
    ("ppo", "value_loss"): "l2",
    ("ppo", "adam_epsilon"): 1e-8,
}


def _list_reasons_against_settings(settings: Mapping[str, Any], rows: int) -> list[str]:
    """Return the reasons why PPO cannot have these settings with ``rows`` rows in a rollout."""
    reasons = []
    schedule = settings["learning_rate_schedule"]
    if schedule not in ("adaptive", "fixed"):
        reasons.append(f"its learning_rate_schedule is adaptive or fixed, found {schedule}")
    unknown = sorted(set(settings) - set(ARGUMENTS) - _FURTHER)
    missing = sorted((set(ARGUMENTS) | _FURTHER) - set(settings) - _OPTIONAL)
    if unknown:
        reasons.append(f"it has no {', '.join(unknown)}")
    if missing:
        return [*reasons, f"it needs {', '.join(missing)}"]
    clip, value_clip = settings["clip_range"], settings["value_clip_range"]
    if value_clip not in (None, clip):
        by = f"it clips values by clip_range {clip} or not at all"
        reasons.append(f"{by}, found value_clip_range {value_clip}")
    if rows % settings["minibatch_size"]:
        parts = f"it divides the {rows} rows of a rollout into equal parts"
        reasons.append(f"{parts}, found minibatch_size {settings['minibatch_size']}")
    if not settings["hidden_sizes"]:
        reasons.append("its networks have a hidden layer, found hidden_sizes []")
    if settings["normalize_advantage"] and not compat.RAW_ADVANTAGES:
        reasons.append("this version normalises advantages of rollouts, not of minibatches")
    return reasons


def make_runner_of_hyperparameters(
    environment: Vectorised, hyperparameters: Mapping[str, Any]
) -> Any:
    """Return a runner with hyperparameters; UserError for those that PPO lacks."""
    remaining, reasons = split_off_fixed_hyperparameters(_FIXED, "ppo", hyperparameters)
    remaining.setdefault("learning_rate_schedule", "fixed")
    rows = remaining.get("rollout_steps", 1) * environment.num_envs
    raise_if_unusable("RSL-RL's PPO", reasons + _list_reasons_against_settings(remaining, rows))
    if remaining["max_gradient_norm"] is None:
        remaining["max_gradient_norm"] = math.inf  # it always clips; at infinity nothing is changed
    keywords = inspect.signature(PPO).parameters
    settings = {own: remaining[name] for name, own in ARGUMENTS.items() if name in remaining}
    algorithm = {
        # until 2.2.2 there is no key for the advantages
        **{own: setting for own, setting in settings.items() if own in keywords},
        "num_mini_batches": rows // remaining["minibatch_size"],
        "use_clipped_value_loss": remaining["value_clip_range"] is not None,
    }
    networks = compat.Networks(hidden=list(remaining["hidden_sizes"]))
    return make_runner(environment, remaining["rollout_steps"], networks, **algorithm)


def make_runner_of_request(request: TrainingRequest, environments: int = 1) -> Any:
    """Return a runner on copies of the environment side by side, seeded as RSL-RL's users do it."""
    random.seed(request.seed)
    np.random.seed(request.seed % 2**32)
    torch.manual_seed(request.seed)
    copies = [request.make_env() for _ in range(environments)]
    runner = make_runner_of_hyperparameters(
        Vectorised(*copies, seed=request.seed, clips=True), request.hyperparameters
    )
    call_prepare_with_heads(request, lambda: find_output_layers(runner.alg))
    return runner


def find_output_layers(algorithm: Any) -> Heads:
    """Return the output layers of an agent."""
    parameter, logarithm = compat.find_trained_deviation(algorithm)
    inverse = torch.log if logarithm else torch.clone
    actor, critic = (compat.list_layers(algorithm, name)[-1] for name in ("actor", "critic"))
    return Heads(actor, make_deviation_setter_of_parameter(parameter, inverse), [critic])


def _count_rows_of_rollout(runner: Any) -> int:
    return runner.alg.storage.num_transitions_per_env * runner.env.num_envs


def train_for_steps(runner: Any, steps: int) -> int:
    """Train for at least ``steps`` steps, in whole rollouts; return the number of steps done."""
    rows = _count_rows_of_rollout(runner)
    rollouts = math.ceil(steps / rows)
    compat.train_without_saving(runner, rollouts)
    return rollouts * rows


def _convert_to_observations(observations: np.ndarray) -> Any:
    rows = torch.as_tensor(np.asarray(observations, dtype=np.float32))
    return compat.arrange_observations(dict.fromkeys(GROUPS, rows))


def make_policy_function(runner: Any) -> Policy:
    """Return the deterministic policy of an agent, clipped as its environment clips."""

    @torch.no_grad()
    def choose_actions(observations: np.ndarray) -> np.ndarray:
        observed = _convert_to_observations(observations)
        return runner.env.clip_actions(compat.choose_actions(runner.alg, observed, explores=False))

    return choose_actions


def train(request: TrainingRequest) -> Trained:
    """Train in one environment, and call ``on_checkpoint`` between updates."""
    runner = make_runner_of_request(request)
    passing = PendingCheckpoints(request.checkpoints)
    entropy: list[float] = []
    steps = 0

    def update_and_note(update: Callable[[], Any]) -> Any:
        nonlocal steps
        losses, steps = update(), steps + _count_rows_of_rollout(runner)
        # until 2.2.4 it returns a tuple, which names nothing
        if isinstance(losses, dict) and "entropy" in losses:
            entropy.append(float(losses["entropy"]))
        if passing.drop_passed(steps):
            request.on_checkpoint(steps, make_policy_function(runner))
        return losses

    compat.wrap_method(runner.alg, "update", update_and_note)
    done = train_for_steps(runner, request.total_steps)
    return make_trained_agent(runner, done, {"entropy": entropy})


def train_and_resume(request: TrainingRequest, restored: bool) -> Trained:
    """Train for half of the steps twice, the second time perhaps with an agent from a file."""
    runner = make_runner_of_request(request)
    half = request.total_steps // 2
    steps = train_for_steps(runner, half)
    if restored:
        # with the same environment, which is not reset
        with isolate_random_generators():
            trained = runner
            runner = make_runner_of_hyperparameters(trained.env, request.hyperparameters)
            compat.copy_through_file(trained, runner)
    return make_trained_agent(runner, steps + train_for_steps(runner, half), {})


def make_trained_agent(runner: Any, steps: int, diagnostics: Mapping[str, list[float]]) -> Trained:
    """Return the agent of a training that has ended."""

    @torch.no_grad()
    def estimate_values(observations: np.ndarray) -> np.ndarray:
        values = compat.estimate_values(runner.alg, _convert_to_observations(observations))
        return copy_to_flat_array(values)

    def draw_actions(observations: np.ndarray, numbers: np.ndarray) -> Any:
        observed = _convert_to_observations(observations)
        with fix_draws_of_normal_distributions(numbers):
            actions = compat.choose_actions(runner.alg, observed, explores=True).detach()
        score = compat.name_log_prob_method(runner.alg)
        return actions, getattr(compat.find_acting_module(runner.alg), score)(actions)

    tensors = compat.list_parameters(runner.alg)
    parameters = {name: copy_to_array(tensor) for name, tensor in tensors.items()}
    return Trained(
        make_policy_function(runner), estimate_values, parameters, steps, diagnostics, draw_actions
    )

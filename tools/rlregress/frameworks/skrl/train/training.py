"""skrl trainings: its ``SequentialTrainer``, watched after every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from skrl.utils import set_seed
from torch import nn

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import (
    AgentSetup,
    Layers,
    make_falling_rate_settings,
    make_noise_settings,
)
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

_OFF_POLICY = {
    "minibatch_size": "batch_size",
    "discount": "discount_factor",
    "polyak_coefficient": "polyak",
    "learning_starts": "learning_starts",
    "updates_per_collection": "gradient_steps",
}
_ACTOR_CRITIC = {**_OFF_POLICY, "learning_rate": "learning_rate"}
#: hyperparameter (Tables 6 to 8 of the thesis) -> setting of the agent, with the same number
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "ppo": {
        "learning_rate": "learning_rate",
        "rollout_steps": "rollouts",
        "epochs": "learning_epochs",
        "discount": "discount_factor",
        "gae_lambda": "gae_lambda",
        "clip_range": "ratio_clip",
        "value_clip_range": "value_clip",
        "entropy_coefficient": "entropy_loss_scale",
        "value_coefficient": "value_loss_scale",
        "max_gradient_norm": "grad_norm_clip",
        "target_kl": "kl_threshold",
        "time_limit_bootstrap": "time_limit_bootstrap",
    },
    "sac": {
        **_OFF_POLICY,
        "initial_temperature": "initial_entropy_value",
        "tune_temperature": "learn_entropy",
    },
    "td3": {
        **_ACTOR_CRITIC,
        "policy_delay": "policy_delay",
        "target_noise_clip": "smooth_regularization_clip",
    },
    "ddpg": _ACTOR_CRITIC,
    "dqn": {**_ACTOR_CRITIC, "steps_per_collection": "update_interval"},
}
#: settings that are switched off by 0, and not by None
SWITCHED_OFF_BY_ZERO = ("value_clip_range", "max_gradient_norm", "target_kl")
_EACH = ("sac", "td3", "ddpg")
#: what no setting sets: (algorithm, hyperparameter) -> value
_FIXED = {
    # over a whole rollout
    ("ppo", "normalize_advantage"): True,
    ("ppo", "value_loss"): "l2",
    ("sac", "policy_delay"): 1,
    ("sac", "target_update_interval"): 1,
    ("dqn", "max_gradient_norm"): None,
    **{(algorithm, "steps_per_collection"): 1 for algorithm in _EACH},
    **{(algorithm, "critic_loss"): "l2" for algorithm in _EACH},
    **{(algorithm, "adam_epsilon"): 1e-8 for algorithm in SETTINGS},
}
#: diagnostic -> how skrl calls what it tracks
_TRACKED = {
    "ppo": {"entropy": "Loss / Entropy loss"},
    "sac": {"temperature": "Coefficient / Entropy coefficient"},
}


def _make_ppo_arguments(
    settings: dict[str, Any], environments: int, steps: int, reasons: list[str]
) -> tuple[dict[str, Any], int]:
    rollout, size = settings["rollout_steps"], settings.pop("minibatch_size")
    rows, arguments = rollout * environments, {}
    if rows % size:
        reasons.append(
            f"the number of minibatches is set, and {rows} rows are no whole number of minibatches "
            f"of {size}"
        )
    arguments["mini_batches"] = max(rows // size, 1)
    if settings.pop("anneal_learning_rate", False):
        # it is lowered after every epoch
        epochs = max(steps // rows, 1) * settings["epochs"]
        arguments.update(make_falling_rate_settings(epochs))
    return arguments, rollout


def _make_sac_arguments(settings: dict[str, Any]) -> dict[str, Any]:
    target, constant = settings.pop("target_entropy"), settings.pop("fixed_temperature", None)
    rate = settings.pop("learning_rate")
    other_rates = ("critic_learning_rate", "temperature_learning_rate")
    if not settings.setdefault("tune_temperature", True):
        settings["initial_temperature"] = constant
    return {
        "learning_rate": (rate, *(settings.pop(name, rate) for name in other_rates)),
        "target_entropy": None if target == "auto" else target,
    }


def _make_dqn_arguments(
    settings: dict[str, Any], environments: int, reasons: list[str]
) -> dict[str, Any]:
    final, falls = settings.pop("exploration_final"), settings.pop("exploration_steps", 0)
    interval = max(settings.pop("target_update_interval") // environments, 1)
    updates = interval * settings["updates_per_collection"] / settings["steps_per_collection"]
    if updates != int(updates):
        reasons.append(f"a target network is held for whole updates, and not for {updates:g}")
    if compat.FIRST:
        reasons.append("in this version epsilon falls exponentially")
    scheduler = compat.make_epsilon_schedule(1.0, final, max(falls / environments, 1.0))
    # a target network that is not averaged is copied
    settings.setdefault("polyak_coefficient", 1.0)
    return {"exploration_scheduler": scheduler, "target_update_interval": int(updates)}


def make_arguments_of_hyperparameters(
    algorithm: str, hyperparameters: Mapping[str, Any], environments: int = 1, steps: int = 0
) -> dict[str, Any]:
    """Return arguments of ``AgentSetup`` that set hyperparameters; UserError for unsupported ones.

    Args:
        environments: side by side; skrl counts steps of all of them at once.
        steps: of the training, over all environments.
    """
    remaining, reasons = split_off_fixed_hyperparameters(_FIXED, algorithm, hyperparameters)
    # the activation is the one of skrl's examples
    arguments: dict[str, Any] = {"layers": Layers(remaining.pop("hidden_sizes"), nn.ReLU)}
    if algorithm == "ppo":
        settings, arguments["rows"] = _make_ppo_arguments(remaining, environments, steps, reasons)
    else:
        arguments["rows"] = max(remaining.pop("replay_size") // environments, 1)
        arguments["memory"] = {"replacement": remaining.pop("sample_with_replacement", False)}
        remaining["learning_starts"] = remaining["learning_starts"] // environments
        settings = {"random_timesteps": remaining["learning_starts"]}
    if algorithm == "sac":
        settings.update(_make_sac_arguments(remaining))
    if algorithm in ("td3", "ddpg"):
        # in the environment's units
        deviations = {
            "exploration_noise": remaining.pop("exploration_noise"),
            "smooth_regularization_noise": remaining.pop("target_noise", None),
        }
        for name, deviation in deviations.items():
            settings.update(make_noise_settings(name, std=deviation) if deviation else {})
    if algorithm == "dqn":
        settings.update(_make_dqn_arguments(remaining, environments, reasons))
    remaining.update(
        {name: 0.0 for name in SWITCHED_OFF_BY_ZERO if remaining.get(name, 0.0) is None}
    )
    names = SETTINGS[algorithm]
    raise_if_unusable(f"skrl's {algorithm.upper()}", reasons, remaining.keys() - names)
    settings.update({names[key]: value for key, value in remaining.items()})
    return {**arguments, **settings}


@contextmanager
def _evaluate_without_side_effects() -> Iterator[None]:
    """Compute no gradients, and restore the random generator afterwards."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        yield


def _make_inputs_of_models(observations: Any, actions: Any = None) -> dict[str, Any]:
    inputs = {compat.OBSERVATIONS: torch.as_tensor(np.asarray(observations, np.float32))}
    return inputs if actions is None else {**inputs, "taken_actions": actions}


def _act_deterministically(training: AgentSetup, observations: Any) -> torch.Tensor:
    """Return the actions without noise: of the largest value, or a policy's mean or output."""
    inputs = _make_inputs_of_models(observations)
    if "q_network" in training.models:
        return training.models["q_network"].act(inputs, role="q_network")[0].argmax(1)
    acted = training.models["policy"].act(inputs, role="policy")
    return acted[-1].get("mean_actions", acted[0])


def make_policy_function(training: AgentSetup) -> Policy:
    """Return the deterministic policy of an agent."""

    def choose_actions(observations: np.ndarray) -> np.ndarray:
        with _evaluate_without_side_effects():
            return _act_deterministically(training, observations).numpy()

    return choose_actions


def _make_value_function(training: AgentSetup) -> Any:
    def compute_output(name: str, inputs: Any) -> torch.Tensor:
        return training.models[name].act(inputs, role=name)[0]

    def estimate_values(observations: np.ndarray) -> np.ndarray:
        with _evaluate_without_side_effects():
            if "value" in training.models:
                values = compute_output("value", _make_inputs_of_models(observations))
            elif "q_network" in training.models:
                values = compute_output("q_network", _make_inputs_of_models(observations)).amax(1)
            else:
                actions = _act_deterministically(training, observations)
                inputs = _make_inputs_of_models(observations, actions)
                critics = [name for name in training.models if name.startswith("critic")]
                values = torch.stack([compute_output(name, inputs) for name in critics]).amin(0)
            return values.numpy().reshape(-1)

    return estimate_values


def _make_drawing_function(training: AgentSetup) -> Any:
    if "policy" not in training.models:
        return None
    policy = training.models["policy"]

    def draw_actions(observations: np.ndarray, numbers: np.ndarray) -> tuple[Any, Any]:
        with fix_draws_of_normal_distributions(numbers):
            acted = policy.act(_make_inputs_of_models(observations), role="policy")
        if not hasattr(policy, "log_std"):
            return acted[0], None
        if "value" not in training.models:
            return acted[0], compat.read_log_prob(acted)[:, 0]
        # the update is given the actions
        actions = acted[0].detach()
        repeated = policy.act(_make_inputs_of_models(observations, actions), role="policy")
        return actions, compat.read_log_prob(repeated)[:, 0]

    return draw_actions


def find_output_layers(training: AgentSetup) -> Heads:
    """Return the output layers of an agent."""
    models = training.models
    if "q_network" in models:
        layers = [model.net[-1] for model in models.values()]
        return Heads(layers[0], values=layers)
    values = [model.net[-1] for name, model in models.items() if "policy" not in name]
    policy = models["policy"]
    if not hasattr(policy, "log_std"):
        return Heads(policy.net[-1], values=values)
    return Heads(
        policy.net[-1], make_deviation_setter_of_parameter(policy.log_std, torch.log), values
    )


def make_training_of_request(
    request: TrainingRequest, environments: int = 1, **options: Any
) -> AgentSetup:
    """Return an agent in its environments, as a user makes it, and seeded as skrl documents it."""
    arguments = make_arguments_of_hyperparameters(
        request.algorithm, request.hyperparameters, environments, request.total_steps
    )
    set_seed(request.seed)
    training = AgentSetup(
        request.algorithm,
        *(request.make_env() for _ in range(environments)),
        **{**arguments, **options},
    )
    # random actions are drawn by the space, which nothing of skrl seeds
    training.action_space.seed(request.seed)
    call_prepare_with_heads(request, lambda: find_output_layers(training))
    return training


def call_after_steps(agent: Any, callback: Callable[[int], None]) -> None:
    """Call ``callback`` after every step of the trainer, with the number of steps done."""
    step = agent.post_interaction

    def interact_and_call(timestep: int, timesteps: int) -> None:
        step(timestep=timestep, timesteps=timesteps)
        callback(timestep + 1)

    agent.post_interaction = interact_and_call


def _track_diagnostics_and_checkpoints(
    training: AgentSetup, request: TrainingRequest
) -> dict[str, list[float]]:
    """Call ``on_checkpoint`` after steps of the trainer; return tracked diagnostics."""
    agent, scale = training.agent, -request.hyperparameters.get("entropy_coefficient", 0.0)
    tracked = dict(_TRACKED.get(request.algorithm, {}))
    # without an entropy in its loss PPO tracks none
    if request.algorithm == "ppo" and not scale:
        tracked = {}
    diagnostics: dict[str, list[float]] = {name: [] for name in tracked}
    passing = PendingCheckpoints(request.checkpoints)

    def note_diagnostics(done: int) -> None:
        for name, tag in tracked.items():
            numbers = agent.tracking_data.get(tag, ())
            diagnostics[name] += [x / scale if name == "entropy" else x for x in numbers]
        # as it does when it writes them
        agent.tracking_data.clear()
        steps = done * len(training.environments)
        if passing.drop_passed(steps):
            request.on_checkpoint(steps, make_policy_function(training))

    call_after_steps(agent, note_diagnostics)
    if request.algorithm == "sac":
        # it tracks its temperature only where it writes, and never comes to that here
        agent.write_interval = request.total_steps + 2
    return diagnostics


def train(request: TrainingRequest) -> Trained:
    """Train with ``SequentialTrainer``, as a user of skrl calls it."""
    training = make_training_of_request(request)
    trainer = training.make_trainer(request.total_steps)
    diagnostics = _track_diagnostics_and_checkpoints(training, request)
    trainer.train()
    return make_trained_agent(training, request.total_steps, diagnostics)


def train_and_resume(request: TrainingRequest, restored: bool) -> Trained:
    """Call ``train`` for half of the steps, twice; an agent that is loaded has an empty memory."""
    training = make_training_of_request(request)
    training.run_steps(request.total_steps // 2)
    if restored:
        with isolate_random_generators(), TemporaryDirectory(prefix="rlregress-") as folder:
            path = str(Path(folder) / "agent.pt")
            training.agent.save(path)
            training = make_training_of_request(request)
            training.agent.load(path)
    training.run_steps(request.total_steps // 2)
    return make_trained_agent(training, request.total_steps, {})


def make_trained_agent(
    training: AgentSetup, steps: int, diagnostics: Mapping[str, list[float]]
) -> Trained:
    """Return the agent of a training that has ended."""
    parameters = {
        f"{name}.{key}": tensor.detach().numpy().copy()
        for name, model in training.models.items()
        for key, tensor in model.state_dict().items()
    }
    logarithm = getattr(training.agent, "log_entropy_coefficient", None)
    if logarithm is not None:
        parameters["log_entropy_coefficient"] = logarithm.detach().numpy().copy()
    return Trained(
        make_policy_function(training),
        _make_value_function(training),
        parameters,
        steps,
        diagnostics,
        _make_drawing_function(training),
    )

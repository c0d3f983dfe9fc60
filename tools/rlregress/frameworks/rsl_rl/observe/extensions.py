"""Probes of what RSL-RL adds to PPO: curiosity, symmetry, distillation and reported losses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import Vectorised, make_runner
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements.loss_minimum import require_one_number
from rlregress.measurements.ppo_trainings import Settings, measure_ratios_of_reported_losses
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.journal import record_differentiated_losses, run_and_record_steps
from rlregress.probing.layers import list_linear_layers, make_output_constant
from rlregress.probing.scripted import Scripted


def _freeze_predictor(agent: Any) -> None:
    """Set the predictor's learning rate, which not every version can configure, to almost 0."""
    for group in compat.find_curiosity_optimizer(agent).param_groups:
        group["lr"] = trainings.FROZEN


def _train_with_curiosity(
    target: Any,
    predicted: Any,
    curiosity: Mapping[str, Any] = {},  # noqa: B006 - read only
    prepare: Callable[[Any], Any] = lambda agent: None,
    **options: Any,
) -> trainings.AgentTraining:
    """Train without rewards; target network and predictor output these numbers.

    Args:
        curiosity: configuration of random network distillation.
        options: of ``train_and_record``.
    """

    def prepare_agent(agent: Any) -> None:
        make_output_constant(agent.rnd.target, target)
        make_output_constant(agent.rnd.predictor, predicted)
        prepare(agent)

    small = {**compat.SMALL_CURIOSITY, "num_outputs": np.size(target)}
    options = {"environment": Scripted(rewards=0.0), "steps": 2, **options}
    return trainings.train_and_record(
        prepare=prepare_agent, rnd_cfg={**small, **curiosity}, **options
    )


def _measure_curiosity_reward(inputs: Inputs, duration: float = 1.0, **curiosity: Any) -> Any:
    environment = Vectorised(Scripted(rewards=0.0), step_dt=duration)
    outputs = inputs["fixed"], inputs["predicted"]
    training = _train_with_curiosity(*outputs, curiosity, environment=environment)
    return training.rollouts[0].rewards[0, 0]


def _measure_reward_weight(inputs: Inputs) -> np.ndarray:
    weighed = _measure_curiosity_reward(inputs, inputs["duration"], weight=inputs["weight"])
    return weighed / _measure_curiosity_reward(inputs)


def _measure_predictor_inputs_and_reward(inputs: Inputs, factor: float) -> np.ndarray:
    """Return the predictor's input for the last reward, that for the last loss, and the reward."""
    numbers: list[float] = []

    def prepare_agent(agent: Any) -> None:
        _freeze_predictor(agent)
        first = list_linear_layers(agent.rnd.predictor)[0]
        first.register_forward_pre_hook(lambda _, states: numbers.append(states[0][0, 0].item()))

    states = factor * inputs["states"]
    script = {"observations": states[:-1], "next_observations": states[1:], "rewards": 0.0}
    training = _train_with_curiosity(
        factor * inputs["error"],
        0.0,
        compat.NORMALISED_CURIOSITY,
        prepare_agent,
        # of one environment alone advantages have no deviation
        environment=Vectorised(Scripted(**script), Scripted(**script)),
        rollouts=len(states) - 1,
        steps=1,
    )
    return np.array([*numbers[-2:], training.rollouts[-1].rewards[0, 0, 0]])


def _measure_ratios_under_scaled_states(inputs: Inputs) -> np.ndarray:
    factors = inputs["factor"], 1.0
    scaled, plain = (_measure_predictor_inputs_and_reward(inputs, factor) for factor in factors)
    return scaled / plain


def _measure_predictor_loss(inputs: Inputs) -> list[float]:
    with record_differentiated_losses() as losses:
        _train_with_curiosity(inputs["fixed"], inputs["predicted"])
    # that of the policy comes first
    return losses[1:]


def _measure_gradient_clip(inputs: Inputs) -> np.ndarray:
    norms = _train_with_curiosity(1e3 * inputs["raw_norm"], 0.0).predictor_norms
    return np.minimum(norms, inputs["cap"])


def _measure_policy_and_predictor_rates(inputs: Inputs) -> list[float]:
    rates = inputs["learning_rate"], inputs["predictor_rate"]
    training = _train_with_curiosity(1.0, 0.0, {"learning_rate": rates[1]}, learning_rate=rates[0])
    predictor = compat.find_curiosity_optimizer(training.runner.alg)
    return [*training.rates, float(predictor.param_groups[0]["lr"])]


def _train_with_symmetry(
    inputs: Inputs, observation: float, change: Any, symmetry: Mapping[str, Any], **algorithm: Any
) -> trainings.AgentTraining:
    def prepare_agent(agent: Any) -> None:
        trainings.make_network_linear(agent, "actor", inputs["bias"])
        compat.fix_outputs(agent, critic=0.0)

    return trainings.train_and_record(
        Scripted(observations=observation, next_observations=observation),
        steps=4,
        networks=trainings.LINEAR,
        prepare=prepare_agent,
        change=change,
        symmetry_cfg=symmetry,
        entropy_coef=0.0,
        max_grad_norm=trainings.NO_CLIP,
        **algorithm,
    )


def _measure_mirror_loss(inputs: Inputs) -> np.ndarray:
    weight = inputs["weight"]
    symmetry = compat.make_symmetry(False, weight)
    training = _train_with_symmetry(inputs, 0.5, trainings.fill_storage_without_effect, symmetry)
    slope = training.get_gradient_of_last_bias("actor")
    return np.array([require_one_number(training.losses), slope]) / weight


def _measure_losses_with_mirrored_samples(inputs: Inputs) -> list[float]:
    action, observation = inputs["action"], inputs["observation"]
    law = torch.distributions.Normal(observation + inputs["bias"], 1.0)

    def measure_loss(stored: Mapping[str, Any], adds_mirrored: bool, **algorithm: float) -> float:
        change = partial(trainings.fill_storage, **stored)
        symmetry = compat.make_symmetry(adds_mirrored, 0.0)
        training = _train_with_symmetry(inputs, observation, change, symmetry, **algorithm)
        return require_one_number(training.losses)

    log_prob = law.log_prob(torch.tensor(action)).item()
    taken = {"advantages": 1.0, "actions": action, "actions_log_prob": log_prob}
    policy = measure_loss(taken, True, value_loss_coef=0.0, clip_param=1e3)
    valued = {"advantages": 0.0, "returns": inputs["target"], "values": inputs["old_value"]}
    values = [
        measure_loss(valued, mirrored, value_loss_coef=1.0, clip_param=inputs["clip_range"])
        for mirrored in (True, False)
    ]
    return [-policy, values[0] / values[1]]


def _train_with_extensions(settings: Settings) -> trainings.AgentTraining:
    """Train PPO with all losses that it can have beside its own."""
    further = {"rnd_cfg": compat.SMALL_CURIOSITY, "symmetry_cfg": compat.make_symmetry(False, 1.0)}
    parameters = inspect.signature(PPO).parameters
    extensions: dict[str, Any] = {
        name: option for name, option in further.items() if name in parameters
    }

    def freeze_predictor_if_any(agent: Any) -> None:
        if getattr(agent, "rnd", None):
            _freeze_predictor(agent)

    # all have the same networks and actions
    with torch.random.fork_rng():
        return trainings.train(settings, prepare=freeze_predictor_if_any, **extensions)


def _train_student(
    error: float, steps: int, window: int, rollouts: int = 1, teacher: float = 0.0
) -> tuple[list[float], float]:
    """Train a student whose actions are those of its teacher plus the constant ``error``.

    Args:
        steps: of a rollout.
        window: steps between two steps of the optimiser.

    Returns:
        The losses of its updates, and the first action that its environment received.
    """
    environment = Scripted()
    runner = make_runner(
        environment,
        steps,
        class_name="Distillation",
        learning_rate=trainings.FROZEN,
        num_learning_epochs=1,
        gradient_length=window,
    )
    compat.mark_teacher_loaded(runner.alg)
    compat.fix_outputs(runner.alg, -12.0, student=teacher + error, teacher=teacher)
    train = partial(compat.train_without_saving, runner, rollouts)
    journal = run_and_record_steps(train, {"student": runner.alg.optimizer})
    return journal.losses["student"], environment.received[0].item()


def _measure_first_executed_action(inputs: Inputs) -> list[float]:
    error = inputs["student"] - inputs["teacher"]
    return [_train_student(error, 2, 2, teacher=inputs["teacher"])[1]]


def _measure_loss_ratios_of_errors(inputs: Inputs) -> np.ndarray:
    losses = [_train_student(float(error), 1, 1)[0][0] for error in inputs["errors"]]
    return np.array(losses[1:]) / losses[0]


def _measure_loss_over_window(inputs: Inputs) -> list[float]:
    length = inputs["length"]
    return _train_student(inputs["error"], length, length)[0]


def _count_updates_of_two_rollouts(inputs: Inputs) -> list[int]:
    steps, length = inputs["rollout"], inputs["length"]
    first, both = (len(_train_student(1.0, steps, length, rollouts)[0]) for rollouts in (1, 2))
    return [first, both - first]


PROBES: Mapping[str, Probe] = {
    "curiosity.reward": _measure_curiosity_reward,
    "curiosity.weight": _measure_reward_weight,
    "curiosity.normalisation": _measure_ratios_under_scaled_states,
    "curiosity.loss": _measure_predictor_loss,
    "curiosity.gradient_clip": _measure_gradient_clip,
    "curiosity.learning_rate": _measure_policy_and_predictor_rates,
    "symmetry.loss": _measure_mirror_loss,
    "symmetry.samples": _measure_losses_with_mirrored_samples,
    "logging.losses": partial(measure_ratios_of_reported_losses, _train_with_extensions),
    "distillation.actions": _measure_first_executed_action,
    "distillation.loss": _measure_loss_ratios_of_errors,
    "distillation.gradient": _measure_loss_over_window,
    "distillation.remainder": _count_updates_of_two_rollouts,
}
ABSENT: Mapping[str, str] = dict.fromkeys(
    ("logging.approx_kl", "logging.update_count", "logging.before_policy_update"),
    "logs neither divergence nor number of updates",
)

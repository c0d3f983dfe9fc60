"""A whole small training by PPO's own ``learn``, watched from outside."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.observe.helpers.on_policy import ProbedPPO
from rlregress.frameworks.sb3.train.collection import RolloutEndCallback
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.measurements.ppo_trainings import Settings
from rlregress.probing.driven import fill_parameters
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.layers import make_output_constant

#: a bound on the norm of the gradient that none reaches
_NO_CLIP = 1e9
#: setting -> its name
_ARGUMENTS = {
    "learning_rate": "learning_rate",
    "discount": "gamma",
    "gae_lambda": "gae_lambda",
    "clip_range": "clip_range",
    "value_coefficient": "vf_coef",
    "entropy_coefficient": "ent_coef",
    "target": "target_kl",
    "normalize_advantage": "normalize_advantage",
}


@dataclass
class AgentTraining(RecordedTraining):
    """The record of a training.

    Attributes:
        agent: after the training.
    """

    agent: Any = None

    def note_optimizer_step(self, _: str) -> None:
        """Record what the optimiser is about to step by."""
        policy = self.agent.policy
        self.rates.append(float(policy.optimizer.param_groups[0]["lr"]))
        self.value_gradients.append(policy.value_net.bias.grad.item())
        # there is none in a policy over discrete actions, and where only values are learnt
        gradient = getattr(getattr(policy, "log_std", None), "grad", None)
        self.log_std_gradients.append(0.0 if gradient is None else gradient.sum().item())


def _select_first_part(observations: Any) -> Any:
    """Return observations, or the first entry of those that are a dictionary."""
    return next(iter(observations.values())) if isinstance(observations, dict) else observations


def _record_minibatches(training: AgentTraining) -> None:
    policy, buffer = training.agent.policy, training.agent.rollout_buffer
    evaluate, predict, get = policy.evaluate_actions, policy.predict_values, buffer.get
    minibatch: list[Any] = []

    def record_and_get(*arguments: Any, **keywords: Any) -> Any:
        for sampled in get(*arguments, **keywords):
            minibatch[:] = [sampled]
            yield sampled

    def record_and_evaluate(observations: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        values, log_prob, entropy = evaluate(observations, *arguments, **named)
        (sampled,) = minibatch
        # a step that only pads a sequence is none
        real = getattr(sampled, "mask", torch.ones_like(sampled.advantages)) > 0.0
        ratios = log_prob.detach() - sampled.old_log_prob
        read = _select_first_part(observations).detach().numpy()
        training.evaluated.append(read[real.numpy(), 0].copy())
        changes = values.detach().flatten() - sampled.old_values
        training.value_changes.append(changes[real].numpy())
        if entropy is not None:
            training.entropies.append(entropy.detach()[real].mean().item())
        training.log_ratios.append(ratios[real].numpy())
        training.advantages.append(sampled.advantages[real].numpy().copy())
        return values, log_prob, entropy

    def record_and_predict(observations: torch.Tensor, *arguments: Any) -> torch.Tensor:
        # rollouts predict, too; of the updates only those that learn values apart from the policy
        if policy.training:
            training.evaluated.append(_select_first_part(observations)[:, 0].numpy().copy())
        return predict(observations, *arguments)

    policy.evaluate_actions, policy.predict_values = record_and_evaluate, record_and_predict
    buffer.get = record_and_get


def _make_arguments(settings: Settings) -> dict[str, Any]:
    """Return the arguments of an agent with these settings."""
    options = settings.map_to_framework_names(**_ARGUMENTS)
    for name in settings.falling:
        # a schedule is a function of the remaining share of the training
        start = options[_ARGUMENTS[name]]
        options[_ARGUMENTS[name]] = lambda progress, start=start: progress * start
    if settings.value_clip is not None:
        options["clip_range_vf"] = settings.value_clip or None
    if not settings.gradients_clipped:
        options["max_grad_norm"] = _NO_CLIP
    rows = settings.steps * len(settings.scripts)
    size = settings.minibatch_size or rows // settings.minibatches
    return {**options, "n_steps": settings.steps, "batch_size": size, "n_epochs": settings.epochs}


def _fix_outputs(algorithm: ProbedPPO, agent: Any, settings: Settings) -> None:
    """Make the networks of an agent output what the settings say."""
    if settings.value_is_observation:
        algorithm.set_value_to_observation(agent)
    if settings.value is not None:
        algorithm.set_value_to_number(agent, settings.value)
    if settings.mean is not None:
        make_output_constant(agent.policy.action_net, settings.mean)
    # a policy over discrete actions has no deviation
    if settings.log_deviation is not None and hasattr(agent.policy, "log_std"):
        fill_parameters([agent.policy.log_std], settings.log_deviation)
    if settings.forgets == 0:
        _let_policy_forget(agent)


def _watch_rollouts(
    algorithm: ProbedPPO, training: AgentTraining, settings: Settings
) -> Callable[[Any], None]:
    """Return a function that records the full rollout buffer and replaces what is stored there.

    Means of actions are recorded from now on.
    """
    agent, means = training.agent, list[np.ndarray]()
    policy, buffer = agent.policy, agent.rollout_buffer
    estimate = buffer.compute_returns_and_advantage

    def note_means(_: Any, __: Any, outputs: torch.Tensor) -> None:
        # updates repeat what was collected
        if not policy.training:
            means.append(outputs[:, 0].detach().numpy().copy())

    def change_values_and_estimate(*arguments: Any, **named: Any) -> None:
        if settings.estimated_value is not None:
            algorithm.set_value_to_number(agent, settings.estimated_value)
        estimate(*arguments, **named)

    def note_and_replace_rollout(_: Any) -> None:
        arrays = {name: own for name, own in vars(buffer).items() if isinstance(own, np.ndarray)}
        copies = {name: own.copy() for name, own in arrays.items()}
        stored = np.array(_select_first_part(buffer.observations))
        training.stored.append(stored.reshape(buffer.buffer_size, -1)[:, 0])
        for name, new in settings.replace_stored(len(training.rollouts), arrays).items():
            setattr(buffer, name, new)
        training.rollouts.append(SimpleNamespace(**copies, means=np.array(means)))
        means.clear()
        if len(training.rollouts) == settings.forgets:
            _let_policy_forget(agent)

    policy.action_net.register_forward_hook(note_means)
    buffer.compute_returns_and_advantage = change_values_and_estimate
    return note_and_replace_rollout


def _let_policy_forget(agent: Any) -> None:
    """Make the recurrent layers of the policy output zeros."""
    fill_parameters(agent.policy.lstm_actor.parameters(), 0.0)


def train(
    algorithm: ProbedPPO,
    settings: Settings,
    *,
    wrap: Callable[[Any], Any] = lambda environment: environment,
    prepare_agent: Callable[[Any], None] = lambda agent: None,
    **arguments: Any,
) -> AgentTraining:
    """Train with ``learn`` and these settings, and return the record.

    Args:
        wrap: makes the environment that is trained in of one that is scripted.
        prepare_agent: called with the agent before its outputs are fixed.
    """
    training = AgentTraining([algorithm.make_environment(**own) for own in settings.scripts])
    arguments = {**_make_arguments(settings), **arguments}
    if settings.value_is_observation:
        arguments["policy_kwargs"] = dict(algorithm.linear)
    with warnings.catch_warnings():
        # a rollout that is no multiple of the minibatch is what some probes are about
        warnings.simplefilter("ignore")
        vectorised = gyms.vectorise_environments(*map(wrap, training.environments))
        agent = training.agent = algorithm.make_agent(vectorised, **arguments)
    prepare_agent(agent)
    _fix_outputs(algorithm, agent, settings)
    callback = RolloutEndCallback(_watch_rollouts(algorithm, training, settings))
    total = settings.total or settings.rollouts * settings.steps * len(settings.scripts)
    _record_minibatches(training)
    journal = run_and_record_steps(
        lambda: agent.learn(total, callback=callback),
        {"policy": agent.policy.optimizer},
        training.note_optimizer_step,
    )
    training.losses = journal.losses["policy"]
    training.gradient_norms = journal.gradient_norms["policy"]
    reported = agent.logger.name_to_value.items()
    training.reported = [np.array([loss for name, loss in reported if name.endswith("_loss")])]
    return training

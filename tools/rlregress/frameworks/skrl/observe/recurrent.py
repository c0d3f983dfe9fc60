"""Probes of PPO_RNN, the agent for models with memory: its own trainings and evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import AgentSetup, Layers, call_after_model
from rlregress.frameworks.skrl.observe.helpers import ppo_trainings
from rlregress.frameworks.skrl.recurrent_layers import Recurrence
from rlregress.measurements import recurrent
from rlregress.measurements.recurrent import Record, Rollout, Settings
from rlregress.probing.driven import fill_parameters
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import find_last_linear_layer, make_output_constant
from rlregress.probing.scripted import Scripted, make_script_of_end_after

#: actions that differ by less are the same
_NEGLIGIBLE = 1e-4
#: the step that only resets, of gymnasium's own way, is no step of a script
_VECTORISED = {"autoreset_mode": AutoresetMode.SAME_STEP}


def _make_outputs_depend_on_memory(training: AgentSetup) -> None:
    """Scale the last layers, so that means and values clearly depend on the memory."""
    with torch.no_grad():
        for model in training.models.values():
            find_last_linear_layer(model).weight.mul_(1000.0)


def _zero_recurrent_parameters(training: AgentSetup) -> None:
    """Set the parameters of the policy's recurrent layers to 0, so that they output zeros."""
    fill_parameters(training.models["policy"].recurrent.parameters(), 0.0)


def _train_with_settings(memory: str, settings: Settings) -> Record:
    """Train PPO with a "gru" or "lstm" and these settings; return the record."""
    record = Record()
    trainings: list[AgentSetup] = []
    means: list[np.ndarray] = []

    def note_means(inputs: Any, outputs: Any) -> None:
        if "taken_actions" not in inputs:
            means.append(outputs[-1]["mean_actions"][:, 0].detach().numpy().copy())

    def prepare_agent(training: AgentSetup) -> None:
        trainings.append(training)
        call_after_model(training.models["policy"], note_means)
        _make_outputs_depend_on_memory(training)
        if settings.constant:
            make_output_constant(training.models["value"], 0.0)
            _zero_recurrent_parameters(training)

    def change_tensors(tensors: dict[str, torch.Tensor]) -> None:
        names = ("values", "rewards", "returns")
        stored = [trainings[0].read_stored_tensor(name)[..., 0].numpy().copy() for name in names]
        record.rollouts.append(Rollout(np.array(means), *stored))
        means.clear()
        if len(record.rollouts) == settings.forgets:
            _zero_recurrent_parameters(trainings[0])
        if settings.advantage is not None:
            fill_parameters([tensors["advantages"]], 0.0)
            tensors["advantages"][0, 0] = settings.advantage
        tensors["log_prob"][0, 0] -= float(np.log(settings.ratio))

    discount = {} if settings.discount is None else {"discount_factor": settings.discount}
    # minibatches have to be whole sequences
    steps = settings.steps if settings.minibatches == 1 else 2
    training = ppo_trainings.train_and_record(
        settings.rollouts * settings.steps,
        *(Scripted(**script) for script in settings.scripts),
        rollouts=settings.steps,
        layers=Layers(memory=Recurrence(memory, steps)),
        vectorised=None if len(settings.scripts) == 1 else _VECTORISED,
        prepare=prepare_agent,
        change=change_tensors,
        mini_batches=settings.minibatches,
        learning_epochs=settings.epochs,
        learning_rate=0.0,
        time_limit_bootstrap=True,
        **settings.map_to_framework_names(
            value_coefficient="value_loss_scale", entropy_coefficient="entropy_loss_scale"
        ),
        **discount,
    )
    record.minibatches = training.evaluated
    if settings.minibatches == 1:
        # one environment behind the other
        last = np.array([training.log_ratios[-1], training.value_changes[-1]])
        record.changes = last.reshape(2, -1, settings.steps).swapaxes(1, 2)
    record.losses, record.entropies = training.losses, training.entropies
    return record


def _make_recurrent_training(*environments: Scripted) -> AgentSetup:
    training = AgentSetup("ppo", *environments, layers=Layers(memory=Recurrence("gru")))
    _make_outputs_depend_on_memory(training)
    # the evaluation of some versions draws actions
    fill_parameters([training.models["policy"].log_std], -20.0)
    return training


def _does_second_action_differ(is_over: bool | None) -> bool:
    """Return whether an agent's second action on one observation differs from its first.

    Args:
        is_over: whether the first step ended its episode; None: the step is not recorded.
    """
    training = _make_recurrent_training()
    training.make_trainer(1)
    observation, means = torch.full((1, 1), 0.5), []
    for _ in range(2):
        acted = compat.act_on_observations(training.agent, observation)
        means.append(float(acted[-1]["mean_actions"].detach()))
        if is_over is not None:
            compat.record_transition(training.agent, observation, acted[0], is_over)
    return abs(means[1] - means[0]) > _NEGLIGIBLE


def _measure_memory_between_actions(inputs: Inputs) -> list[float]:
    episode = int(inputs["episode"])
    environment = Scripted(terminated=make_script_of_end_after(episode))
    evaluated: list[float] = [-1.0, -1.0]
    try:
        _make_recurrent_training(environment).make_trainer(episode + 1).eval()
        first, *later = (float(action[0]) for action in environment.received)
        evaluated = [abs(later[step - 1] - first) > _NEGLIGIBLE for step in (1, episode)]
    except UnboundLocalError as error:
        if not was_raised_in(error, "skrl"):
            raise
    return [*map(_does_second_action_differ, (False, True, None)), *evaluated]


_AGENTS = [partial(_train_with_settings, kind) for kind in ("gru", "lstm")]
#: what is measured for agents with GRU alone
_OF_ONE_AGENT = ("recurrent.minibatches", "recurrent.padding")
PROBES: Mapping[str, Probe] = {
    **{
        id: recurrent.make_probe_averaged_over_agents(
            measure, *(_AGENTS[:1] if id in _OF_ONE_AGENT else _AGENTS)
        )
        for id, measure in recurrent.MEASUREMENTS.items()
    },
    "recurrent.predict": _measure_memory_between_actions,
}
ABSENT: Mapping[str, str] = {
    "recurrent.padding.divergence": "reports neither divergence nor clipped ratios",
}

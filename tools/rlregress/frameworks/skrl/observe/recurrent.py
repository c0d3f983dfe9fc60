"""Probes of PPO_RNN, the agent for models with memory: its own trainings and evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from gymnasium.vector import AutoresetMode

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import AgentSetup, Layers
from rlregress.frameworks.skrl.observe.helpers import ppo_trainings
from rlregress.frameworks.skrl.recurrent_layers import Recurrence
from rlregress.measurements import recurrent
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.measurements.ppo_trainings import Settings
from rlregress.probing.driven import fill_parameters
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import find_last_linear_layer
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


def _train_with_memory(memory: str, settings: Settings) -> RecordedTraining:
    """Train PPO with a "gru" or "lstm" and these settings; return the record."""
    # minibatches have to be whole sequences
    steps = settings.steps if settings.minibatches == 1 else 2
    return ppo_trainings.train(
        settings,
        _make_outputs_depend_on_memory,
        layers=Layers(memory=Recurrence(memory, steps)),
        vectorised=None if len(settings.scripts) == 1 else _VECTORISED,
        time_limit_bootstrap=True,
    )


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


PROBES: Mapping[str, Probe] = {
    **recurrent.make_probes(
        *(partial(_train_with_memory, kind) for kind in ("gru", "lstm")),
        of_first=("recurrent.minibatches", "recurrent.padding"),
    ),
    "recurrent.predict": _measure_memory_between_actions,
}
ABSENT: Mapping[str, str] = {
    "recurrent.padding.divergence": "reports neither divergence nor clipped ratios",
}

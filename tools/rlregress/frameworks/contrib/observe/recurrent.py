"""Probes of RecurrentPPO: its own ``learn``, ``predict`` and evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.contrib.observe.helpers.on_policy_classes import PROBED_ALGORITHMS
from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers import ppo_trainings
from rlregress.measurements import recurrent
from rlregress.measurements.recurrent import Record, Rollout, Settings
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted, make_script_of_end_after

_RECURRENT_PPO = PROBED_ALGORITHMS["RecurrentPPO"]
#: a size in which no shape takes the place of another
_LAYERS: Mapping[str, Any] = {"lstm_hidden_size": 16, "n_lstm_layers": 2}
#: ratios and actions that differ by less are the same
_NEGLIGIBLE = 1e-4


def _make_outputs_depend_on_memory(agent: Any) -> None:
    """Enlarge the output layers' weights, so that means and values clearly depend on memory."""
    with torch.no_grad():
        agent.policy.action_net.weight.mul_(1000.0)
        agent.policy.value_net.weight.mul_(100.0)


class _DictionaryObservations(gymnasium.ObservationWrapper):
    """A wrapper with dictionaries as observations; another class of rollout buffers stores them."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.observation_space = gymnasium.spaces.Dict({"numbers": environment.observation_space})

    def observation(self, observation: np.ndarray) -> Mapping[str, np.ndarray]:
        return {"numbers": observation}


def _note_means_of_rollouts(policy: Any, means: list[np.ndarray]) -> None:
    def note_means(layer: Any, _: Any, outputs: torch.Tensor) -> None:
        # updates repeat what was collected
        if not policy.training:
            means.append(outputs[:, 0].detach().numpy().copy())

    policy.action_net.register_forward_hook(note_means)


def _train_with_settings(
    settings: Settings,
    wrap: Callable[[Any], Any] = lambda environment: environment,
    note_agent: Callable[[Any], None] = lambda agent: None,
    **arguments: Any,
) -> Record:
    """Train with ``learn`` and these settings, and return the record.

    Args:
        wrap: makes the environment that is trained in of one that is scripted.
        note_agent: called with the agent before the training.
    """
    record, agents = Record(), list[Any]()
    means: list[np.ndarray] = []
    # the entropy of a Gaussian is that of padding, too
    discrete: Mapping[str, Any] = {"discrete": 2} if settings.constant else {}
    environments = [Scripted(**script, **discrete) for script in settings.scripts]

    def prepare_agent(agent: Any) -> None:
        agents.append(agent)
        note_agent(agent)
        _make_outputs_depend_on_memory(agent)
        if settings.constant:
            _RECURRENT_PPO.set_value_to_number(agent, 0.0)
        _note_means_of_rollouts(agent.policy, means)

    def change_buffer(buffer: Any) -> None:
        returns = buffer.advantages + buffer.values
        stored = [np.array(means), buffer.values, buffer.rewards, returns]
        means.clear()
        record.rollouts.append(Rollout(*(numbers.astype(np.float64) for numbers in stored)))
        if len(record.rollouts) == settings.forgets:
            fill_parameters(agents[0].policy.lstm_actor.parameters(), 0.0)
        if settings.advantage is not None:
            buffer.advantages[:] = 0.0
            buffer.advantages[0, 0] = settings.advantage
        buffer.log_probs[0, 0] -= np.log(settings.ratio)

    training = ppo_trainings.train_and_record(
        _RECURRENT_PPO,
        gyms.vectorise_environments(*map(wrap, environments)),
        settings.rollouts * settings.steps_of_all_environments,
        n_steps=settings.steps,
        batch_size=settings.steps_of_all_environments // settings.minibatches,
        n_epochs=settings.epochs,
        normalize_advantage=settings.advantage is None,
        learning_rate=probe_agents.FROZEN,
        policy_kwargs=dict(_LAYERS),
        prepare_agent=prepare_agent,
        change_buffer=change_buffer,
        **settings.map_to_framework_names(
            value_coefficient="vf_coef", entropy_coefficient="ent_coef", discount="gamma"
        ),
        **arguments,
    )
    _copy_minibatches(record, training, settings)
    return record


def _copy_minibatches(
    record: Record, training: ppo_trainings.AgentTraining, settings: Settings
) -> None:
    record.minibatches = training.evaluated
    if len(training.evaluated[-1]) == settings.steps_of_all_environments:
        # observations are numbered in the order of collection, one environment after the other
        order = np.argsort(training.evaluated[-1], kind="stable")
        last = np.array([training.log_ratios[-1], training.value_changes[-1]])[:, order]
        record.changes = last.reshape(2, -1, settings.steps).swapaxes(1, 2)
    record.losses, record.entropies = training.losses, training.entropies


def _measure_padding_in_divergence(inputs: Inputs) -> list[float]:
    settings = recurrent.make_padded_settings(inputs)
    agents: list[Any] = []
    record = _train_with_settings(settings, note_agent=agents.append, target_kl=inputs["target"])
    reported = agents[0].logger.name_to_value
    divergence = reported["train/approx_kl"] > _NEGLIGIBLE
    return [divergence, reported["train/clip_fraction"], len(record.losses)]


def _measure_use_of_memory_in_predict(inputs: Inputs) -> list[float]:
    agent = _RECURRENT_PPO.make_agent(Scripted(), n_steps=8, batch_size=8)
    _make_outputs_depend_on_memory(agent)
    observation = np.full(1, 0.5, dtype=np.float32)

    def predict_actions(**options: Any) -> Any:
        return agent.predict(observation, deterministic=True, **options)

    first, state = predict_actions()
    later = [
        predict_actions(**options)[0]
        for options in (
            {"state": state, "episode_start": np.zeros(1, dtype=bool)},
            {"state": state, "episode_start": np.ones(1, dtype=bool)},
            {},
        )
    ]
    episode = inputs["episode"]
    environment = Scripted(terminated=make_script_of_end_after(episode))
    probe_agents.evaluate_agent(agent, environment, episodes=2)
    evaluated = [environment.received[step] for step in (1, episode)]
    return [abs(float(action[0]) - float(first[0])) > _NEGLIGIBLE for action in later + evaluated]


_BOTH_BUFFERS = (_train_with_settings, partial(_train_with_settings, wrap=_DictionaryObservations))
#: what is measured with both kinds of buffers
_OF_BOTH = ("recurrent.update", "recurrent.padding")
PROBES: Mapping[str, Probe] = {
    **{
        id: recurrent.make_probe_averaged_over_agents(
            measure, *(_BOTH_BUFFERS if id in _OF_BOTH else _BOTH_BUFFERS[:1])
        )
        for id, measure in recurrent.MEASUREMENTS.items()
    },
    "recurrent.padding.divergence": _measure_padding_in_divergence,
    "recurrent.predict": _measure_use_of_memory_in_predict,
}

"""Probes of RecurrentPPO: its own ``learn``, ``predict`` and evaluation."""

from __future__ import annotations

from collections.abc import Mapping
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


def _train_and_record(
    settings: Settings, wrap: Any = None, **arguments: Any
) -> tuple[ppo_trainings.AgentTraining, Record]:
    """Train an agent; return the record of PPO's probes and that of recurrent measurements."""
    record = Record()
    agents: list[Any] = []
    means: list[np.ndarray] = []
    # the entropy of a Gaussian is that of padding, too
    discrete: Mapping[str, Any] = {"discrete": 2} if settings.constant else {}
    environments = [Scripted(**script, **discrete) for script in settings.scripts]

    def prepare_agent(agent: Any) -> None:
        agents.append(agent)
        _make_outputs_depend_on_memory(agent)
        if settings.constant:
            _RECURRENT_PPO.set_value_to_number(agent, 0.0)

        def note_means(layer: Any, _: Any, outputs: torch.Tensor) -> None:
            # updates repeat what was collected
            if not agent.policy.training:
                means.append(outputs[:, 0].detach().numpy().copy())

        agent.policy.action_net.register_forward_hook(note_means)

    def change_buffer(buffer: Any) -> None:
        returns = buffer.advantages + buffer.values
        stored = [np.array(means), buffer.values, buffer.rewards, returns]
        means.clear()
        record.rollouts.append(Rollout(*(numbers.astype(np.float64) for numbers in stored)))
        if len(record.rollouts) == settings.forgets:
            with torch.no_grad():
                for parameter in agents[0].policy.lstm_actor.parameters():
                    parameter.zero_()
        if settings.advantage is not None:
            buffer.advantages[:] = 0.0
            buffer.advantages[0, 0] = settings.advantage
        buffer.log_probs[0, 0] -= np.log(settings.ratio)

    training = ppo_trainings.train_and_record(
        _RECURRENT_PPO,
        gyms.vectorise_environments(*(environments if wrap is None else map(wrap, environments))),
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
    record.minibatches = training.evaluated
    if len(training.evaluated[-1]) == settings.steps_of_all_environments:
        # observations are numbered in the order of collection, one environment after the other
        order = np.argsort(training.evaluated[-1], kind="stable")
        last = np.array([training.log_ratios[-1], training.value_changes[-1]])[:, order]
        record.changes = last.reshape(2, -1, settings.steps).swapaxes(1, 2)
    record.losses, record.entropies = training.losses, training.entropies
    return training, record


def _train_with_settings(settings: Settings) -> Record:
    """Train with ``learn`` and these settings, and return the record."""
    return _train_and_record(settings)[1]


def _train_with_dictionaries(settings: Settings) -> Record:
    """Train as ``_train_with_settings``, on observations in dictionaries."""
    return _train_and_record(settings, _DictionaryObservations)[1]


def _measure_padding_in_divergence(inputs: Inputs) -> np.ndarray:
    settings = recurrent.make_padded_settings(inputs)
    training, _ = _train_and_record(settings, target_kl=inputs["target"])
    reported = training.agent.logger.name_to_value
    divergence = reported["train/approx_kl"] > _NEGLIGIBLE
    return np.array([divergence, reported["train/clip_fraction"], len(training.losses)])


def _measure_use_of_memory_in_predict(inputs: Inputs) -> np.ndarray:
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
    differ = [abs(float(action[0]) - float(first[0])) > _NEGLIGIBLE for action in later + evaluated]
    return np.array(differ)


def _make_probe_of_both_buffers(measurement: recurrent.Measurement) -> Probe:
    return recurrent.make_probe_averaged_over_agents(
        measurement, _train_with_settings, _train_with_dictionaries
    )


PROBES: Mapping[str, Probe] = {
    "recurrent.rollout": partial(recurrent.flag_memory_resets_in_rollout, _train_with_settings),
    "recurrent.update": _make_probe_of_both_buffers(recurrent.flag_changed_outputs_in_update),
    "recurrent.minibatches": partial(recurrent.measure_recurrent_minibatches, _train_with_settings),
    "recurrent.padding": _make_probe_of_both_buffers(recurrent.count_steps_in_loss_means),
    "recurrent.padding.divergence": _measure_padding_in_divergence,
    "recurrent.bootstrap": partial(recurrent.flag_bootstrapped_values, _train_with_settings),
    "recurrent.critic": partial(recurrent.flag_memory_of_critic, _train_with_settings),
    "recurrent.predict": _measure_use_of_memory_in_predict,
}

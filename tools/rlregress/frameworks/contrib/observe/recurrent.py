"""Probes of RecurrentPPO: its own ``learn``, ``predict`` and evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.contrib.observe.helpers.on_policy_classes import PROBED_ALGORITHMS
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers import ppo_trainings
from rlregress.measurements import recurrent
from rlregress.measurements.ppo_trainings import Settings
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


def _train_with_settings(settings: Settings, **arguments: Any) -> ppo_trainings.AgentTraining:
    """Train with ``learn`` and these settings, and return the record."""
    if settings.forgets == 0:
        # the entropy of a Gaussian, or of a policy without memory, is that of padding, too
        scripts = [{**script, "discrete": 2} for script in settings.scripts]
        settings = replace(settings, scripts=scripts, forgets=None)
    training = ppo_trainings.train(
        _RECURRENT_PPO,
        settings,
        prepare_agent=_make_outputs_depend_on_memory,
        policy_kwargs=dict(_LAYERS),
        # whether it does by default, and which returns it stores, are details of PPO
        normalize_advantage=not settings.stored,
        **arguments,
    )
    for rollout in training.rollouts:
        rollout.returns = rollout.advantages + rollout.values
    return training


def _measure_padding_in_divergence(inputs: Inputs) -> list[float]:
    settings = recurrent.make_padded_settings(inputs, target=inputs["target"])
    training = _train_with_settings(settings)
    reported = training.agent.logger.name_to_value
    divergence = reported["train/approx_kl"] > _NEGLIGIBLE
    return [divergence, reported["train/clip_fraction"], len(training.losses)]


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


#: what is measured with one kind of rollout buffers alone
_OF_FIRST = (
    "recurrent.rollout", "recurrent.minibatches", "recurrent.bootstrap", "recurrent.critic",
)  # fmt: skip
PROBES: Mapping[str, Probe] = {
    **recurrent.make_probes(
        _train_with_settings,
        partial(_train_with_settings, wrap=_DictionaryObservations),
        of_first=_OF_FIRST,
    ),
    "recurrent.padding.divergence": _measure_padding_in_divergence,
    "recurrent.predict": _measure_use_of_memory_in_predict,
}

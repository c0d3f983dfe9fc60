"""Probes of normalisation: VecNormalize, which users put around their environments themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.vec_env import VecNormalize

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.helpers.normalised_environments import (
    make_normalised_environments,
    walk_through_environment,
    walk_through_normalised,
)
from rlregress.frameworks.sb3.train.normalised import evaluate_one_episode, reload_agent
from rlregress.measurements import normalisation
from rlregress.measurements.normalisation import (
    Script,
    Walked,
    count_steps_of_script,
    make_script_of_observations,
)
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted


def _normalise_rewards_with_discount(inputs: Inputs) -> np.ndarray:
    environment = make_normalised_environments({"rewards": inputs["rewards"]})
    agent = probe_agents.make_agent(PPO, environment, gamma=inputs["discount"])
    return walk_through_environment(agent.get_env(), len(inputs["rewards"])).rewards[1:, 0]


def _measure_episode_return(inputs: Inputs) -> np.ndarray:
    length = len(inputs["rewards"])
    terminated = np.arange(length) == length - 1
    # as the documentation makes the environments that it normalises
    environments = gyms.make_vec_env(
        lambda: Scripted(rewards=inputs["rewards"], terminated=terminated), 1
    )
    agent = probe_agents.make_agent(
        PPO, VecNormalize(environments), n_steps=length, batch_size=length, n_epochs=1
    )
    agent.learn(length)
    return np.array([agent.ep_info_buffer[-1]["r"]])


def _walk_through_environment_of_agent(
    algorithm_class: Any, scripts: Sequence[Script], **options: Any
) -> Walked:
    """Step the environment into which an agent has wrapped the user's; return what it returns."""
    (script,) = scripts
    environment = gyms.convert_environment(Scripted(**script))
    agent = algorithm_class("MlpPolicy", environment, device="cpu", **options)
    return walk_through_environment(agent.get_env(), count_steps_of_script(script))


def _make_agent_with_fed_normaliser(inputs: Inputs) -> Any:
    agent = probe_agents.make_agent(
        PPO, make_normalised_environments(make_script_of_observations(inputs["training"]))
    )
    walk_through_environment(agent.get_env(), len(inputs["training"]) - 1)
    return agent


def _list_observations_in_evaluation(inputs: Inputs, **options: Any) -> np.ndarray:
    agent = _make_agent_with_fed_normaliser(inputs)
    length = len(inputs["evaluation"])
    episode = make_script_of_observations(
        np.append(inputs["evaluation"], 0.0), terminated=np.arange(length) == length - 1
    )
    recorded: list[float] = []
    predict = agent.predict

    def record_and_predict(observation: np.ndarray, *arguments: Any, **keywords: Any) -> Any:
        recorded.append(float(observation[0, 0]))
        return predict(observation, *arguments, **keywords)

    agent.predict = record_and_predict
    evaluate_one_episode(agent, make_normalised_environments(episode, **options))
    return np.array(recorded)


def _normalise_observations_in_evaluation(inputs: Inputs) -> np.ndarray:
    # as the documentation says: no training, rewards as they are
    return _list_observations_in_evaluation(inputs, training=False, norm_reward=False)


def _normalise_observations_after_loading(inputs: Inputs) -> np.ndarray:
    environment = gyms.vectorise_environments(
        Scripted(**make_script_of_observations(inputs["evaluation"]))
    )
    loaded = reload_agent(_make_agent_with_fed_normaliser(inputs), environment)
    return walk_through_environment(loaded.get_env(), len(inputs["evaluation"]) - 1).observations[
        :, 0
    ]


PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, walk_through_normalised)
        for id, measure in normalisation.MEASUREMENTS.items()
    },
    "normalisation.reward.discount": _normalise_rewards_with_discount,
    "normalisation.episode_return": _measure_episode_return,
    "normalisation.default": partial(
        normalisation.measure_default_normalisation,
        partial(_walk_through_environment_of_agent, PPO),
    ),
    "normalisation.default.off_policy": partial(
        normalisation.measure_default_off_policy_normalisation,
        partial(_walk_through_environment_of_agent, SAC, buffer_size=10),
    ),
    "normalisation.evaluation": _normalise_observations_in_evaluation,
    "normalisation.evaluation.same_wrapper": _list_observations_in_evaluation,
    "normalisation.saved": _normalise_observations_after_loading,
}

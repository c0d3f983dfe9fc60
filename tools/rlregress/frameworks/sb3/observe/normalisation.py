"""Probes of normalisation: VecNormalize, which users put around their environments themselves."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.vec_env import VecNormalize

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.observe.drivers import constant_agents
from rlregress.frameworks.sb3.observe.helpers.normalised_environments import (
    normalised,
    paying,
    showing,
    vectorised,
    walk,
)
from rlregress.probing.interface import Inputs, Probe


def _observations(observations: Any) -> np.ndarray:
    return walk(normalised(showing(observations)), len(observations) - 1).observations[:, 0]


def _rewards(i: Inputs, **script: Any) -> np.ndarray:
    return walk(normalised(paying(i["rewards"], **script)), len(i["rewards"])).rewards[:, 0]


def _epsilon(i: Inputs) -> np.ndarray:
    return _observations(np.append(np.zeros(int(i["still"])), i["last"]))[-1:]


def _reset(i: Inputs) -> np.ndarray:
    return _rewards(i, terminated=i["terminated"], truncated=i["truncated"])[1:]


def _discount(i: Inputs) -> np.ndarray:
    environment = normalised(paying(i["rewards"]))
    agent = constant_agents.make(PPO, environment, gamma=i["discount"])
    return walk(agent.get_env(), len(i["rewards"])).rewards[1:, 0]


def _episode_return(i: Inputs) -> np.ndarray:
    length = len(i["rewards"])
    terminated = np.arange(length) == length - 1
    # as the documentation makes the environments that it normalises
    environments = gyms.make_vec_env(lambda: paying(i["rewards"], terminated=terminated), 1)
    agent = constant_agents.make(
        PPO, VecNormalize(environments), n_steps=length, batch_size=length, n_epochs=1
    )
    agent.learn(length)
    return np.array([agent.ep_info_buffer[-1]["r"]])


def _default(algorithm: Any, steps: list[int], i: Inputs) -> np.ndarray:
    environment = showing(np.append(0.0, i["observations"]), rewards=i["rewards"])
    observations = walk(
        algorithm("MlpPolicy", gyms.native(environment), device="cpu").get_env(), len(i["rewards"])
    )
    return np.concatenate([observations.observations[1:][steps, 0], observations.rewards[steps, 0]])


def _default_off_policy(i: Inputs) -> np.ndarray:
    return _default(lambda *a, **k: SAC(*a, buffer_size=10, **k), [-2, -1], i)


def _trained(i: Inputs) -> Any:
    agent = constant_agents.make(PPO, normalised(showing(i["training"])))
    walk(agent.get_env(), len(i["training"]) - 1)
    return agent


def _evaluated(i: Inputs, **options: Any) -> np.ndarray:
    agent = _trained(i)
    length = len(i["evaluation"])
    episode = showing(np.append(i["evaluation"], 0.0), terminated=np.arange(length) == length - 1)
    callback = EvalCallback(
        normalised(episode, **options),
        n_eval_episodes=1,
        eval_freq=1,
        verbose=0,
        **compat.known_arguments(EvalCallback, warn=False),
    )
    recorded: list[float] = []
    predict = agent.predict

    def recording(observation: np.ndarray, *arguments: Any, **keywords: Any) -> Any:
        recorded.append(float(observation[0, 0]))
        return predict(observation, *arguments, **keywords)

    agent.predict = recording
    callback.init_callback(agent)
    callback.on_step()
    return np.array(recorded)


def _evaluation(i: Inputs) -> np.ndarray:
    # as the documentation says: no training, rewards as they are
    return _evaluated(i, training=False, norm_reward=False)


def _saved(i: Inputs) -> np.ndarray:
    file = io.BytesIO()
    _trained(i).save(file)
    file.seek(0)
    loaded = PPO.load(file, env=vectorised(showing(i["evaluation"])), device="cpu")
    return walk(loaded.get_env(), len(i["evaluation"]) - 1).observations[:, 0]


PROBES: Mapping[str, Probe] = {
    "normalisation.observation": lambda i: _observations(i["observations"])[1:],
    "normalisation.observation.epsilon": _epsilon,
    "normalisation.observation.clip": lambda i: _observations(i["observations"])[-2:],
    "normalisation.observation.statistics": (
        lambda i: _observations(i["observations"])[[0, 1, 2, 50, 199]]
    ),
    "normalisation.order": lambda i: _observations(i["observations"])[1:],
    "normalisation.reward": lambda i: _rewards(i)[1:],
    "normalisation.reward.reset": _reset,
    "normalisation.reward.clip": lambda i: _rewards(i)[-2:],
    "normalisation.reward.first": lambda i: _rewards(i)[:1],
    "normalisation.reward.discount": _discount,
    "normalisation.episode_return": _episode_return,
    "normalisation.default": lambda i: _default(PPO, [3, -1], i),
    "normalisation.default.off_policy": _default_off_policy,
    "normalisation.evaluation": _evaluation,
    "normalisation.evaluation.same_wrapper": _evaluated,
    "normalisation.saved": _saved,
}

"""Probes of normalisation: VecNormalize, which users put around their environments themselves."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.vec_env import VecNormalize

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.observe.drivers import constant_agents
from rlregress.frameworks.sb3.observe.helpers.normalised_environments import (
    normalise_environments,
    walk,
    walk_normalised,
)
from rlregress.measurements import normalisation
from rlregress.measurements.normalisation import Script, Walked, count_steps, showing
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted


def _discount(i: Inputs) -> np.ndarray:
    environment = normalise_environments({"rewards": i["rewards"]})
    agent = constant_agents.make_agent(PPO, environment, gamma=i["discount"])
    return walk(agent.get_env(), len(i["rewards"])).rewards[1:, 0]


def _episode_return(i: Inputs) -> np.ndarray:
    length = len(i["rewards"])
    terminated = np.arange(length) == length - 1
    # as the documentation makes the environments that it normalises
    environments = gyms.make_vec_env(
        lambda: Scripted(rewards=i["rewards"], terminated=terminated), 1
    )
    agent = constant_agents.make_agent(
        PPO, VecNormalize(environments), n_steps=length, batch_size=length, n_epochs=1
    )
    agent.learn(length)
    return np.array([agent.ep_info_buffer[-1]["r"]])


def _walk_default(algorithm: Any, scripts: Sequence[Script], **options: Any) -> Walked:
    """Walk through the environment that an agent makes of a user's."""
    (script,) = scripts
    environment = gyms.convert_environment(Scripted(**script))
    agent = algorithm("MlpPolicy", environment, device="cpu", **options)
    return walk(agent.get_env(), count_steps(script))


def _train_agent(i: Inputs) -> Any:
    agent = constant_agents.make_agent(PPO, normalise_environments(showing(i["training"])))
    walk(agent.get_env(), len(i["training"]) - 1)
    return agent


def _evaluate_agent(i: Inputs, **options: Any) -> np.ndarray:
    agent = _train_agent(i)
    length = len(i["evaluation"])
    episode = showing(np.append(i["evaluation"], 0.0), terminated=np.arange(length) == length - 1)
    callback = EvalCallback(
        normalise_environments(episode, **options),
        n_eval_episodes=1,
        eval_freq=1,
        verbose=0,
        **compat.select_known_arguments(EvalCallback, warn=False),
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
    return _evaluate_agent(i, training=False, norm_reward=False)


def _saved(i: Inputs) -> np.ndarray:
    file = io.BytesIO()
    _train_agent(i).save(file)
    file.seek(0)
    environment = gyms.vectorise_environments(Scripted(**showing(i["evaluation"])))
    loaded = PPO.load(file, env=environment, device="cpu")
    return walk(loaded.get_env(), len(i["evaluation"]) - 1).observations[:, 0]


PROBES: Mapping[str, Probe] = {
    **{id: partial(measure, walk_normalised) for id, measure in normalisation.MEASUREMENTS.items()},
    "normalisation.reward.discount": _discount,
    "normalisation.episode_return": _episode_return,
    "normalisation.default": partial(normalisation.default, partial(_walk_default, PPO)),
    "normalisation.default.off_policy": partial(
        normalisation.default_off_policy, partial(_walk_default, SAC, buffer_size=10)
    ),
    "normalisation.evaluation": _evaluation,
    "normalisation.evaluation.same_wrapper": _evaluate_agent,
    "normalisation.saved": _saved,
}

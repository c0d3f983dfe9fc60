"""The statistics of VecNormalize: after a training, in an evaluation, and in its file."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.vec_env import VecNormalize

from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.train.collection import make_agent_of_request
from rlregress.frameworks.sb3.train.training import OWN, Library, make_policy_function
from rlregress.probing.interface import RunningStatistics, TrainingRequest, TrainingVariant


def collect_running_statistics(
    request: TrainingRequest, environments: int, library: Library = OWN
) -> RunningStatistics:
    """Train, evaluate, and save and load; return the statistics of VecNormalize after each."""
    model = make_agent_of_request(request, environments, TrainingVariant(running=True), library)
    model.learn(request.total_steps)
    request.on_checkpoint(model.num_timesteps, make_policy_function(model))
    trained = _read_normaliser_statistics(model.get_vec_normalize_env())
    return RunningStatistics(
        trained,
        _evaluate_and_read_statistics(model, request),
        _reload_and_read_statistics(model, request),
    )


def _read_normaliser_statistics(normalising: Any) -> np.ndarray:
    return np.array([[normalising.obs_rms.mean, normalising.obs_rms.var]])


def evaluate_one_episode(model: Any, environment: Any) -> None:
    """Play an episode in a vectorised environment, as ``EvalCallback`` evaluates an agent."""
    callback = EvalCallback(
        environment,
        n_eval_episodes=1,
        eval_freq=1,
        verbose=0,
        **compat.select_known_arguments(EvalCallback, warn=False),
    )
    callback.init_callback(model)
    callback.on_step()


def reload_agent(model: Any, environment: Any) -> Any:
    """Return an agent as it is loaded, in another environment."""
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    return type(model).load(file, env=environment, device="cpu")


def _evaluate_and_read_statistics(model: Any, request: TrainingRequest) -> np.ndarray:
    evaluation = VecNormalize(gyms.make_vec_env(request.make_env, 1), norm_reward=False)
    evaluate_one_episode(model, evaluation)
    return _read_normaliser_statistics(evaluation)


def _reload_and_read_statistics(model: Any, request: TrainingRequest) -> np.ndarray | None:
    loaded = reload_agent(model, gyms.make_vec_env(request.make_env, 1))
    normalising = loaded.get_vec_normalize_env()
    return None if normalising is None else _read_normaliser_statistics(normalising)

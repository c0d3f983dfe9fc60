"""Helpers of the library that users call by themselves, on an agent that was trained.

What they hand back is shown to the trace. Runs inside old environments: Python 3.10 syntax.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.sb3 import gyms, user_code
from rlregress.frameworks.sb3.scenario_request import library
from rlregress.frameworks.sb3.wrappers import Wrappers

#: episodes that are counted, of 7 and 10 steps.
_EPISODES = 2


def _count_episodes(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Steps, returns and lengths as the monitor of an environment has counted them."""
    del model, folder
    monitor = library("common.monitor", "Monitor")(wrappers.made(0))
    for _ in range(_EPISODES):
        gyms.reset(monitor)
        ended = False
        while not ended:
            _, _, ended = gyms.step(monitor, monitor.action_space.low)
    counted = [monitor.get_total_steps(), monitor.get_episode_lengths()]
    user_code.Capture().capture([*counted, monitor.get_episode_rewards()])


def _load_vector(model: Any, wrappers: Wrappers, folder: str) -> None:
    """The parameters as one vector, halved and put back; the policy acts with them."""
    del folder
    if not hasattr(model.policy, "load_from_vector"):
        raise Unsupported("a policy takes no vector of parameters")
    model.policy.load_from_vector(0.5 * model.policy.parameters_to_vector())
    observation = gyms.reset(wrappers.made(0))
    user_code.Capture().capture([model.predict(observation, deterministic=True)[0]])


def _falling_rate(model: Any, wrappers: Wrappers, folder: str) -> None:
    """A rate that falls from 1 to 0.1 in the first half of a training."""
    del model, wrappers, folder
    rate = library("common.utils", "get_linear_fn")(1.0, 0.1, 0.5)
    user_code.Capture().capture([float(rate(left)) for left in (1.0, 0.8, 0.5, 0.2)])


def _draw_noise(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Correlated noise that does not begin at zero, three draws before and after a reset."""
    del model, wrappers, folder
    kind = library("common.noise", "OrnsteinUhlenbeckActionNoise")
    noise = kind(np.zeros(2), 0.3 * np.ones(2), initial_noise=np.array([0.4, -0.2]))
    rows = [noise() for _ in range(3)]
    noise.reset()
    user_code.Capture().capture(rows + [noise() for _ in range(3)])


def _save_actor(model: Any, wrappers: Wrappers, folder: str) -> None:
    """The actor is saved by itself, loaded, and asked."""
    path = os.path.join(folder, "actor.pkl")
    model.policy.actor.save(path)
    actor = type(model.policy.actor).load(path)
    observation, _ = model.policy.obs_to_tensor(gyms.reset(wrappers.made(0)))
    user_code.Capture().capture([actor(observation, deterministic=True).detach().numpy()])


def _reset_again(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Environments side by side that are seeded once and reset three times."""
    del model, folder
    environment = DummyVecEnv([lambda: wrappers.made(0)])
    environment.seed(3)
    user_code.Capture().capture([np.array(environment.reset()) for _ in range(3)])


def _row_by_hand(model: Any, wrappers: Wrappers, folder: str) -> None:
    """A rollout of two steps that a user fills, with probabilities that are single numbers."""
    del model, folder
    kind = library("common.buffers", "RolloutBuffer")
    environment = wrappers.made(0)
    buffer = kind(2, environment.observation_space, environment.action_space, device="cpu")
    observation = gyms.reset(environment)
    action = environment.action_space.low
    for step in range(2):
        numbers = [torch.tensor(0.5 * (step + 1)), torch.tensor(-0.3 * (step + 1))]
        buffer.add(observation, action, np.ones(1), np.zeros(1), *numbers)
    buffer.compute_returns_and_advantage(torch.tensor([0.25]), np.zeros(1))
    user_code.Capture().capture(
        [buffer.values, buffer.log_probs, buffer.advantages, buffer.returns]
    )


def _state_kept(model: Any, wrappers: Wrappers, folder: str) -> None:
    """An agent that is loaded with an environment, and goes on where it was, or begins anew."""
    path = os.path.join(folder, "whole")
    model.save(path)
    environment = DummyVecEnv([lambda: wrappers.made(0)])
    kept = []
    for anew in (True, False):
        loaded = type(model).load(path, env=environment, force_reset=anew)
        kept.append(float(loaded._last_obs is None))
    user_code.Capture().capture(kept)


#: word of ``helpers`` -> what is done with agent, environments and a folder.
USED: dict[str, Callable[[Any, Wrappers, str], None]] = {
    "episodes-counted": _count_episodes,
    "parameters-as-a-vector": _load_vector,
    "falling-rate": _falling_rate,
    "correlated-noise": _draw_noise,
    "actor-alone": _save_actor,
    "reset-again": _reset_again,
    "row-by-hand": _row_by_hand,
    "state-kept": _state_kept,
}

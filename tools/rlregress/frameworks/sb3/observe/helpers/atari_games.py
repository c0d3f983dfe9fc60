"""Stable-Baselines3's Atari preprocessing, whole and in parts, around a game that probes control.

To probe one wrapper, its class is looked up in an ``AtariWrapper`` that is made with its defaults,
and put around the bare game.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rlregress.environments.atari_fake import AtariGame, ExtremeGenerator
from rlregress.environments.atari_play import Player, Step
from rlregress.environments.atari_vision import Vision, skip_large_initialisation
from rlregress.frameworks.sb3 import compat, gyms
from rlregress.frameworks.sb3.library import find_policy_class
from rlregress.probing.interface import Unprobed

_FRAMES = 4


def move_channels_first(pictures: Any) -> np.ndarray:
    """Return [frames or colours, height, width] of [height, width, frames or colours]."""
    return np.moveaxis(np.asarray(pictures, dtype=np.float64), -1, 0)


def wrap_game(game: AtariGame, name: str, **arguments: Any) -> Any:
    """Return the wrapper of that name, alone around the game; the game itself if there is none.

    Raises:
        Unprobed: there is a wrapper of another package, which may do the same.
    """
    from stable_baselines3.common import atari_wrappers

    native = gyms.convert_environment(game)
    wrapper: Any = atari_wrappers.AtariWrapper(native, **arguments)
    while isinstance(wrapper, gyms.Wrapper):
        if type(wrapper).__name__ == name:
            wrapper.env = native
            break
        if type(wrapper).__module__ != atari_wrappers.__name__:
            raise Unprobed(f"{type(wrapper).__name__} may replace {name}", is_known=False)
        wrapper = wrapper.env
    return wrapper


def make_player(environment: Any, game: Any) -> Player:
    """Return a player of one environment; only the player's own ``reset`` resets it."""

    def step_environment(action: int) -> Step:
        observation, reward, done = gyms.step_to_triple(environment, action)
        return Step(move_channels_first(observation), float(reward), done)

    return Player(
        game, lambda: move_channels_first(gyms.reset_to_observation(environment)), step_environment
    )


def make_player_of_wrapper(game: AtariGame, name: str) -> Player:
    """Return a player of one wrapper."""
    return make_player(wrap_game(game, name), game)


def make_player_of_noop_wrapper(longest: bool) -> Player:
    """Return a player of ``NoopResetEnv``, with the most or the fewest no-ops at a reset."""
    game = AtariGame(fire=False)
    game.np_random = ExtremeGenerator(gyms.make_generator(0), longest)  # type: ignore[assignment]
    return make_player_of_wrapper(game, "NoopResetEnv")


class _VectorisedGame:
    """A vectorised environment of one game, which is reset within the step that ends an episode."""

    def __init__(self, environments: Any) -> None:
        self._environments = environments
        self._next: Any = None
        self.reported = float("nan")

    def reset(self) -> np.ndarray:
        observation, self._next = self._next, None
        return move_channels_first(
            (self._environments.reset() if observation is None else observation)[0]
        )

    def step(self, action: int) -> Step:
        observations, rewards, dones, infos = self._environments.step(np.array([action]))
        self._next = observations if dones[0] else None
        if "episode" in infos[0]:
            self.reported = float(infos[0]["episode"]["r"])
        return Step(move_channels_first(observations[0]), float(rewards[0]), bool(dones[0]))


def _make_vectorised_player(environments: Any, game: Any) -> Player:
    played = _VectorisedGame(environments)
    return Player(game, played.reset, played.step, lambda: played.reported)


def make_player_of_stack() -> Player:
    """Return a player of ``VecFrameStack`` alone."""
    from stable_baselines3.common.vec_env import VecFrameStack

    game = AtariGame(shape=(36, 36, 1))
    return _make_vectorised_player(VecFrameStack(gyms.vectorise_environments(game), _FRAMES), game)


def make_player_of_whole_game(make_env: Callable[[], Any], noops: int | None = None) -> Player:
    """Return a player of ``make_atari_env`` with its defaults, and a stack of four frames.

    Args:
        make_env: makes the game.
        noops: how many frames to wait on reset; None: a random number.
    """
    from stable_baselines3.common.vec_env import VecFrameStack

    game = make_env()
    environments = gyms.find_env_util().make_atari_env(
        lambda **_: gyms.convert_environment(game), n_envs=1
    )
    if noops is not None:
        inner = environments.envs[0]
        while type(inner).__name__ != "NoopResetEnv":
            if not isinstance(inner, gyms.Wrapper):
                raise Unprobed("no wrapper is called NoopResetEnv", is_known=False)
            inner = inner.env
        inner.override_num_noops = noops
    return _make_vectorised_player(VecFrameStack(environments, _FRAMES), game)


def make_vision_of_constant_image(pixel: float) -> Vision:
    """Return SB3's policy for images, with its logits and value for frames of one colour."""
    from stable_baselines3 import PPO

    spaces = gyms.spaces
    images = spaces.Box(0, 255, (_FRAMES, 84, 84), np.uint8)
    with skip_large_initialisation():
        policy_class = find_policy_class(PPO, "CnnPolicy")
        policy = policy_class(
            images,
            spaces.Discrete(4),
            lambda _: 0.0,
            **compat.select_known_arguments(policy_class, device="cpu"),
        )
        compat.add_current_methods_to_policy(policy)
    observation = torch.full((1, *images.shape), int(pixel), dtype=torch.uint8)
    return Vision(
        policy,
        lambda: policy.get_distribution(observation).distribution.logits[0],
        lambda: policy.predict_values(observation),
    )

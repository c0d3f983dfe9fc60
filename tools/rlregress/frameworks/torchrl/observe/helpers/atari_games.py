"""TorchRL's Atari preprocessing, around a game that probes control.

``utils_atari.py`` of the PPO program makes environments by the name of a game: the game is
registered under a name for as long as that takes. To probe some transforms, they are looked up in
the environment that was made, and appended to the bare game.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch

from rlregress.environments.atari_fake import DRAWS, AtariGame
from rlregress.environments.atari_play import Player, Step
from rlregress.environments.atari_vision import Vision
from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import GymWrapper, TensorDict, TransformedEnv, step_mdp
from rlregress.frameworks.torchrl.scripted_environments import register_environment

_NAME = "ProbeNoFrameskip-v4"
_SIGNAL = "end-of-life"


def _register_game(game: Any) -> Any:
    # a real game would skip the frames itself; this one has no such argument, so TorchRL does it
    return register_environment(lambda render_mode=None: game, _NAME, order_enforce=False)


def _resize_picture(
    picture: torch.Tensor, size: list[int], interpolation: Any, antialias: bool
) -> Any:
    batched = picture.reshape(-1, *picture.shape[-3:])
    resized = torch.nn.functional.interpolate(
        batched, size=size, mode=str(interpolation), antialias=antialias
    )
    return resized.reshape(*picture.shape[:-2], *size)


@functools.cache
def _has_torchvision() -> bool:
    try:
        importlib.import_module("torchvision.transforms.functional")
    except (ImportError, RuntimeError):  # RuntimeError: it was built for another torch
        return False
    return True


@contextlib.contextmanager
def enable_resizing_without_torchvision() -> Iterator[None]:
    """Let ``Resize`` work where torchvision is not installed.

    Like torchvision, the stand-in passes a tensor and its settings to
    ``torch.nn.functional.interpolate``. Probes look at the settings that TorchRL chooses.
    """
    if _has_torchvision():
        yield
        return
    from rlregress.frameworks.torchrl.api import _observation

    names = ("torchvision", "torchvision.transforms", "torchvision.transforms.functional")
    modules = {name: types.ModuleType(name) for name in names}
    vars(modules[names[-1]]).update(resize=_resize_picture, InterpolationMode=str)
    before = {name: sys.modules.pop(name, None) for name in names}
    had = _observation._has_tv
    sys.modules.update(modules)
    _observation._has_tv = True
    try:
        yield
    finally:
        _observation._has_tv = had
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module


@contextlib.contextmanager
def fix_random_integers_to_extreme(largest: bool) -> Iterator[None]:
    """Make torch.randint return the smallest, or the largest, of some draws.

    The same arguments give the same integers again.
    """
    draw = torch.randint
    recorded: dict[str, torch.Tensor] = {}

    def return_extreme_integer(*arguments: Any, **options: Any) -> torch.Tensor:
        key = repr((arguments, options))
        if key not in recorded:
            draws = torch.stack([draw(*arguments, **options) for _ in range(DRAWS)])
            recorded[key] = draws.amax(0) if largest else draws.amin(0)
        return recorded[key].clone()

    with mock.patch.object(torch, "randint", return_extreme_integer):
        yield


class _PlayedEnvironment:
    """A TorchRL environment with the interface of a ``Player``: no reset within a step."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._now: Any = None
        self.reported = float("nan")

    def _convert_to_pictures(self, observed: Any) -> np.ndarray:
        pictures = observed.get("pixels").to(torch.float64).numpy()
        pictures = pictures.reshape(-1, *pictures.shape[-2:]) if pictures.ndim > 3 else pictures
        # colours stand last as long as nothing has moved them
        return np.moveaxis(pictures, -1, 0) if pictures.shape[-1] == 3 else pictures

    def reset(self) -> np.ndarray:
        with enable_resizing_without_torchvision():
            self._now = self._environment.reset()
        return self._convert_to_pictures(self._now)

    def step(self, action: int) -> Step:
        self._now["action"] = torch.full(self._environment.batch_size, action)
        with enable_resizing_without_torchvision():
            stepped = self._environment.step(self._now)["next"]
        self._now = step_mdp(self._now)
        done = bool(stepped["done"])
        logged = stepped.get("episode_reward", None)
        if done and logged is not None:
            self.reported = float(logged)
        signal = bool(stepped.get(_SIGNAL, stepped["done"]))
        return Step(self._convert_to_pictures(stepped), float(stepped["reward"]), done, signal)


def make_player(environment: Any, game: Any) -> Player:
    """Return a player of an environment; only the player's own ``reset`` resets it."""
    played = _PlayedEnvironment(environment)
    return Player(game, played.reset, played.step, lambda: played.reported)


def wrap_game(game: Any, *transforms: Any, frame_skip: int = 1) -> Any:
    """Return the game with these transforms."""
    environment: Any = GymWrapper(
        game, frame_skip=frame_skip, device="cpu", categorical_action_encoding=True
    )
    if not transforms:
        return environment
    environment = TransformedEnv(environment)
    for transform in transforms:
        environment.append_transform(transform)
    return environment


def make_player_of_transforms(*transforms: Any, frame_skip: int = 1, game: Any = None) -> Player:
    """Return a player of a game within these transforms alone."""
    played = AtariGame() if game is None else game
    return make_player(wrap_game(played, *transforms, frame_skip=frame_skip), played)


def unscale_observations(player: Player) -> Player:
    """Return the player with observations from 0 to 255, which ``ToTensorImage`` had scaled."""

    def step_and_unscale(action: int) -> Step:
        observation = player.step(action)
        return observation._replace(observation=observation.observation * 255.0)

    return player._replace(reset=lambda: player.reset() * 255.0, step=step_and_unscale)


def load_atari_program() -> Any:
    """Return the module ``utils_atari.py`` of the PPO program, freshly loaded."""
    return programs.load_program("ppo", "utils_atari")


def make_base_environment(game: Any, **options: Any) -> Any:
    """Return the environment that ``make_base_env`` of the program makes for one game."""
    with _register_game(game) as name:
        return load_atari_program().make_base_env(name, **options)


def make_parallel_environment(game: Any) -> Any:
    """Return the environment that ``make_parallel_env`` of the program makes for one game."""
    utilities = load_atari_program()  # before anything stands in for torchvision
    with (
        _register_game(game) as name,
        enable_resizing_without_torchvision(),
        fix_random_integers_to_extreme(largest=False),
    ):
        environments = utilities.make_parallel_env(name, 1, torch.device("cpu"), "gymnasium")
        # the game is made when it is first needed
        environments.reset()
    return environments


@functools.cache
def _make_game_once() -> tuple[AtariGame, Any]:
    """Return a game and its ``make_parallel_environment``; cached, because it is slow."""
    game = AtariGame()
    return game, make_parallel_environment(game)


def copy_program_transforms(*class_names: str) -> list[Any]:
    """Return copies of the program's transforms of these classes."""
    return [t.clone() for t in _make_game_once()[1].transform if type(t).__name__ in class_names]


def make_player_with_extreme_draws(environment: Any, game: Any, largest: bool) -> Player:
    """Return a player whose resets draw the largest, or the smallest, integers."""
    player = make_player(environment, game)

    def reset_with_extreme_draws() -> np.ndarray:
        with fix_random_integers_to_extreme(largest):
            return player.reset()

    return player._replace(reset=reset_with_extreme_draws)


def make_player_waiting_at_reset(make_env: Callable[[], Any], noops: int) -> Player:
    """Return a player of the program's environment, which waits ``noops`` steps at each reset."""
    del make_env
    game, environment = _make_game_once()
    for transform in environment.base_env._envs[0].transform:
        if type(transform).__name__ == "NoopResetEnv":
            transform.noops, transform.random = noops, False
    # whatever is done while waiting, it is not FIRE
    return make_player_with_extreme_draws(environment, game, largest=True)


def make_player_of_whole_game(make_env: Callable[[], Any]) -> Player:
    """Return a player of everything that the program puts around a game of ``make_env``."""
    game = make_env()
    return make_player(make_parallel_environment(game), game)


@functools.cache
def _make_models_once() -> tuple[Any, Any]:
    utilities = load_atari_program()
    with (
        _register_game(AtariGame()) as name,
        enable_resizing_without_torchvision(),
        fix_random_integers_to_extreme(largest=False),
    ):
        actor, critic = utilities.make_ppo_models(name, "cpu", "gymnasium")
    return actor, critic


def make_vision_of_pictures(pictures: torch.Tensor) -> Vision:
    """Return actor and critic of the program for these pictures [1, 4, 84, 84], as floats."""
    actor, critic = _make_models_once()

    def make_observed_pictures() -> TensorDict:
        return TensorDict({"pixels": pictures}, [1])

    return Vision(
        torch.nn.ModuleList([actor, critic]),
        lambda: actor(make_observed_pictures())["logits"][0],
        lambda: critic(make_observed_pictures())["state_value"],
    )

"""Probes of Atari preprocessing: the transforms, and ``utils_atari.py`` of the PPO program.

The program makes environments by the name of a game: a game that probes control is registered under
a name for as long as that takes. To probe some transforms, they are looked up in the environment
that was made, and appended to the bare game.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import types
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch

from rlregress.environments import atari_play, atari_vision
from rlregress.environments.atari_fake import DRAWS, AtariGame
from rlregress.environments.atari_play import Player, Step
from rlregress.environments.atari_vision import Vision
from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import (
    GAE,
    CatFrames,
    Compose,
    EndOfLifeTransform,
    FrameSkipTransform,
    GrayScale,
    GymWrapper,
    NoopResetEnv,
    TensorDict,
    TensorDictModule,
    ToTensorImage,
    TransformedEnv,
    _observation,
    step_mdp,
)
from rlregress.frameworks.torchrl.known_networks import make_segment_observing_values
from rlregress.frameworks.torchrl.quiet import silence_and_speed_up_torchrl
from rlregress.frameworks.torchrl.scripted_environments import register_environment
from rlregress.measurements import atari
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.isolation import isolate_random_generators

_SKIP = 4
_STACK = (1, 4, 84, 84)
#: wrapper -> what the program has in its place, one transform after the other
_OF_PROGRAM = {
    "WarpFrame": ("RenameTransform", "ToTensorImage", "GrayScale", "Resize"),
    "ClipRewardEnv": ("SignTransform",),
}
_NAME = "ProbeNoFrameskip-v4"


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
def _enable_resizing_without_torchvision() -> Iterator[None]:
    """Let ``Resize`` work where torchvision is not installed.

    Like torchvision, the stand-in passes a tensor and its settings to
    ``torch.nn.functional.interpolate``. Probes look at the settings that TorchRL chooses.
    """
    if _has_torchvision():
        yield
        return
    names = ("torchvision", "torchvision.transforms", "torchvision.transforms.functional")
    modules = {name: types.ModuleType(name) for name in names}
    vars(modules[names[-1]]).update(resize=_resize_picture, InterpolationMode=str)
    with programs.replace_modules(modules), mock.patch.object(_observation, "_has_tv", True):
        yield


@contextlib.contextmanager
def _fix_random_integers_to_extreme(largest: bool) -> Iterator[None]:
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
        with _enable_resizing_without_torchvision():
            self._now = self._environment.reset()
        return self._convert_to_pictures(self._now)

    def step(self, action: int) -> Step:
        self._now["action"] = torch.full(self._environment.batch_size, action)
        with _enable_resizing_without_torchvision():
            stepped = self._environment.step(self._now)["next"]
        self._now = step_mdp(self._now)
        done = bool(stepped["done"])
        logged = stepped.get("episode_reward", None)
        if done and logged is not None:
            self.reported = float(logged)
        signal = bool(stepped.get("end-of-life", stepped["done"]))
        return Step(self._convert_to_pictures(stepped), float(stepped["reward"]), done, signal)


def _make_player(environment: Any, game: Any) -> Player:
    """Return a player of an environment; only the player's own ``reset`` resets it."""
    played = _PlayedEnvironment(environment)
    return Player(game, played.reset, played.step, lambda: played.reported)


def _wrap_game(game: Any, *transforms: Any, frame_skip: int = 1) -> Any:
    """Return the game with these transforms."""
    environment: Any = GymWrapper(
        game, frame_skip=frame_skip, device="cpu", categorical_action_encoding=True
    )
    return TransformedEnv(environment, Compose(*transforms)) if transforms else environment


def _make_player_of_transforms(*transforms: Any, frame_skip: int = 1, game: Any = None) -> Player:
    """Return a player of a game within these transforms alone."""
    played = AtariGame() if game is None else game
    return _make_player(_wrap_game(played, *transforms, frame_skip=frame_skip), played)


def _unscale_observations(player: Player) -> Player:
    """Return the player with observations from 0 to 255, which ``ToTensorImage`` had scaled."""

    def step_and_unscale(action: int) -> Step:
        observation = player.step(action)
        return observation._replace(observation=observation.observation * 255.0)

    return player._replace(reset=lambda: player.reset() * 255.0, step=step_and_unscale)


def _make_base_environment(game: Any, **options: Any) -> Any:
    """Return the environment that ``make_base_env`` of the program makes for one game."""
    with _register_game(game) as name:
        return programs.load_program("ppo", "utils_atari").make_base_env(name, **options)


@contextlib.contextmanager
def _load_program_with_game(game: Any) -> Iterator[tuple[Any, str]]:
    """Yield the program's module, freshly loaded, and the name that the game has in the block."""
    utilities = programs.load_program("ppo", "utils_atari")  # before a stand-in for torchvision
    with (
        _register_game(game) as name,
        _enable_resizing_without_torchvision(),
        _fix_random_integers_to_extreme(largest=False),
    ):
        yield utilities, name


def _make_parallel_environment(game: Any) -> Any:
    """Return the environment that ``make_parallel_env`` of the program makes for one game."""
    with _load_program_with_game(game) as (utilities, name):
        environments = utilities.make_parallel_env(name, 1, torch.device("cpu"), "gymnasium")
        # the game is made when it is first needed
        environments.reset()
    return environments


@functools.cache
def _make_game_once() -> tuple[AtariGame, Any]:
    """Return a game and its ``_make_parallel_environment``; cached, because it is slow."""
    game = AtariGame()
    return game, _make_parallel_environment(game)


def _copy_program_transforms(*class_names: str) -> list[Any]:
    """Return copies of the program's transforms of these classes."""
    return [t.clone() for t in _make_game_once()[1].transform if type(t).__name__ in class_names]


def _make_player_with_extreme_draws(environment: Any, game: Any, largest: bool) -> Player:
    """Return a player whose resets draw the largest, or the smallest, integers."""
    player = _make_player(environment, game)

    def reset_with_extreme_draws() -> np.ndarray:
        with _fix_random_integers_to_extreme(largest):
            return player.reset()

    return player._replace(reset=reset_with_extreme_draws)


def _make_player_waiting_at_reset(make_env: Callable[[], Any], noops: int) -> Player:
    """Return a player of the program's environment, which waits ``noops`` steps at each reset."""
    del make_env
    game, environment = _make_game_once()
    for transform in environment.base_env._envs[0].transform:
        if type(transform).__name__ == "NoopResetEnv":
            transform.noops, transform.random = noops, False
    # whatever is done while waiting, it is not FIRE
    return _make_player_with_extreme_draws(environment, game, largest=True)


def _make_player_of_whole_game(make_env: Callable[[], Any]) -> Player:
    """Return a player of everything that the program puts around a game of ``make_env``."""
    game = make_env()
    return _make_player(_make_parallel_environment(game), game)


@functools.cache
def _make_models_once() -> tuple[Any, Any]:
    with _load_program_with_game(AtariGame()) as (utilities, name):
        actor, critic = utilities.make_ppo_models(name, "cpu", "gymnasium")
    return actor, critic


def _make_vision_of_pictures(pictures: torch.Tensor) -> Vision:
    """Return actor and critic of the program for these pictures [1, 4, 84, 84], as floats."""
    actor, critic = _make_models_once()

    def make_observed_pictures() -> TensorDict:
        return TensorDict({"pixels": pictures}, [1])

    return Vision(
        torch.nn.ModuleList([actor, critic]),
        lambda: actor(make_observed_pictures())["logits"][0],
        lambda: critic(make_observed_pictures())["state_value"],
    )


def _make_player_in_library(game: AtariGame, wrapper: str) -> Player:
    """Return a player of a transform, or of the frame skip of the wrapper for Gymnasium."""
    if wrapper == "MaxAndSkipEnv":
        return _make_player_of_transforms(frame_skip=_SKIP, game=game)
    return _make_player_of_transforms(EndOfLifeTransform(), game=game)


def _make_player_in_program(game: AtariGame, wrapper: str) -> Player:
    """Return a player of transforms of the program, or of the environment that it begins with."""
    if wrapper in _OF_PROGRAM:
        transforms = _copy_program_transforms(*_OF_PROGRAM[wrapper])
        with _enable_resizing_without_torchvision():
            player = _make_player_of_transforms(*transforms, game=game)
        return _unscale_observations(player) if wrapper == "WarpFrame" else player
    options = {"frame_skip": 1} if wrapper == "EpisodicLifeEnv" else {}
    return _make_player_with_extreme_draws(
        _make_base_environment(game, **options), game, largest=False
    )


def _make_player_of_stack(make_stack: Callable[[], Any]) -> Player:
    # the stack of the program has been made for pictures of this size
    game = AtariGame(shape=(84, 84, 3))
    return _unscale_observations(
        _make_player_of_transforms(ToTensorImage(), GrayScale(), make_stack(), game=game)
    )


def _make_player_of_noops(wrap: Callable[[AtariGame], Any], longest: bool) -> Player:
    game = AtariGame()
    return _make_player_with_extreme_draws(wrap(game), game, longest)


def _make_vision(pixel: float) -> Vision:
    return _make_vision_of_pictures(torch.full(_STACK, float(pixel) / 255.0))


def _measure_frames_past_end(inputs: Inputs) -> np.ndarray:
    return atari_play.play_end_within_action(
        _make_player_of_transforms(FrameSkipTransform(_SKIP)), inputs
    )


def _measure_advantages_at_lost_life(inputs: Inputs) -> np.ndarray:
    value = TensorDictModule(torch.nn.Identity(), ["observation"], ["state_value"])
    advantages = []
    for is_announced in (False, True):
        estimator = GAE(gamma=inputs["discount"], lmbda=0.95, value_network=value)
        if is_announced:
            EndOfLifeTransform().register_keys(estimator)
        step = make_segment_observing_values(
            inputs["value"], inputs["next_value"], inputs["reward"]
        )
        step["next", "end-of-life"] = torch.ones(1, 1, 1, dtype=torch.bool)
        estimator(step)
        advantages.append(float(step["advantage"]))
    return np.array(advantages)


def _measure_scaling_by_transform(inputs: Inputs) -> np.ndarray:
    """Return each scaled pixel twice: policy and value read the same entry of a transform."""
    recorded = []
    for pixel in inputs["pixels"]:
        game = AtariGame(first_pixel=int(pixel))
        observation = float(_make_player_of_transforms(ToTensorImage(), game=game).reset()[0, 0, 0])
        recorded += [observation, observation]
    return np.array(recorded)


def _measure_scaling_by_program(inputs: Inputs) -> np.ndarray:
    first, second = (int(pixel) for pixel in inputs["pixels"])
    # making the environments has started the game once
    player = _make_player_of_whole_game(lambda: AtariGame(first_pixel=first))
    with _fix_random_integers_to_extreme(largest=False):
        observation = [player.reset()]
    for _ in range(_SKIP):
        player.game.queue_frame(pixel=second)
    observation.append(player.step(0).observation)
    pictures = [torch.as_tensor(s, dtype=torch.float32).reshape(_STACK) for s in observation]
    visions = [_make_vision_of_pictures(p) for p in pictures]
    return np.concatenate([atari_vision.measure_inputs_at_corner(vision) for vision in visions])


ABSENT: Mapping[str, str] = {
    "atari.fire_reset.stale": "nothing presses FIRE on reset, see atari.fire_reset",
    "atari.episodic_life.over": "a lost life is no reset, so that no action follows it",
}
_LIBRARY = atari.Preprocessing(
    _make_player_in_library,
    partial(_make_player_of_noops, lambda game: _wrap_game(game, NoopResetEnv())),
    partial(_make_player_of_stack, lambda: CatFrames(N=4, dim=-3)),
    _make_player_waiting_at_reset,
    _make_vision,
)
_PROGRAM = atari.Preprocessing(
    _make_player_in_program,
    partial(_make_player_of_noops, partial(_make_base_environment, frame_skip=1)),
    partial(_make_player_of_stack, lambda: _copy_program_transforms("CatFrames")[0]),
    _make_player_waiting_at_reset,
    _make_vision,
)
#: what the library alone has
_OF_LIBRARY = (
    "atari.noop_reset", "atari.episodic_life", "atari.max_and_skip", "atari.max_and_skip.end",
    "atari.max_and_skip.stale", "atari.frame_stack",
)  # fmt: skip
PROBES: Mapping[tuple[str, str], Probe] = {
    **{(id, "library"): partial(atari.MEASUREMENTS[id], _LIBRARY) for id in _OF_LIBRARY},
    **{
        (id, "script"): partial(measure, _PROGRAM)
        for id, measure in atari.MEASUREMENTS.items()
        if id not in ABSENT
    },
    ("atari.episodic_life.loss_key", "library"): _measure_advantages_at_lost_life,
    ("atari.frame_skip.past_end", "library"): _measure_frames_past_end,
    ("atari.image_scaling", "library"): _measure_scaling_by_transform,
    ("atari.image_scaling", "script"): _measure_scaling_by_program,
}


def make_atari_player(make_env: Callable[[], Any]) -> Player:
    """Return a player of the game that ``make_env`` makes, in all transforms of a training."""
    with isolate_random_generators(), silence_and_speed_up_torchrl():
        return _make_player_of_whole_game(make_env)

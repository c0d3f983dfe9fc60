"""Probes of Atari preprocessing: the transforms, and ``utils_atari.py`` of the PPO program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.environments import atari_play, atari_vision
from rlregress.environments.atari_fake import AtariGame
from rlregress.environments.atari_play import Player
from rlregress.environments.atari_vision import Vision
from rlregress.frameworks.torchrl.api import (
    GAE,
    CatFrames,
    EndOfLifeTransform,
    FrameSkipTransform,
    GrayScale,
    NoopResetEnv,
    TensorDict,
    TensorDictModule,
    ToTensorImage,
)
from rlregress.frameworks.torchrl.observe.helpers import atari_games
from rlregress.frameworks.torchrl.quiet import silence_and_speed_up_torchrl
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


def _make_player_in_library(game: AtariGame, wrapper: str) -> Player:
    """Return a player of a transform, or of the frame skip of the wrapper for Gymnasium."""
    if wrapper == "MaxAndSkipEnv":
        return atari_games.make_player_of_transforms(frame_skip=_SKIP, game=game)
    return atari_games.make_player_of_transforms(EndOfLifeTransform(), game=game)


def _make_player_in_program(game: AtariGame, wrapper: str) -> Player:
    """Return a player of transforms of the program, or of the environment that it begins with."""
    if wrapper in _OF_PROGRAM:
        transforms = atari_games.copy_program_transforms(*_OF_PROGRAM[wrapper])
        with atari_games.enable_resizing_without_torchvision():
            player = atari_games.make_player_of_transforms(*transforms, game=game)
        return atari_games.unscale_observations(player) if wrapper == "WarpFrame" else player
    options = {"frame_skip": 1} if wrapper == "EpisodicLifeEnv" else {}
    return atari_games.make_player_with_extreme_draws(
        atari_games.make_base_environment(game, **options), game, largest=False
    )


def _make_player_of_stack(make_stack: Callable[[], Any]) -> Player:
    # the stack of the program has been made for pictures of this size
    game = AtariGame(shape=(84, 84, 3))
    return atari_games.unscale_observations(
        atari_games.make_player_of_transforms(ToTensorImage(), GrayScale(), make_stack(), game=game)
    )


def _make_player_of_noops_in_library(longest: bool) -> Player:
    game = AtariGame()
    return atari_games.make_player_with_extreme_draws(
        atari_games.wrap_game(game, NoopResetEnv()), game, longest
    )


def _make_player_of_noops_in_program(longest: bool) -> Player:
    game = AtariGame()
    environment = atari_games.make_base_environment(game, frame_skip=1)
    return atari_games.make_player_with_extreme_draws(environment, game, longest)


def _make_vision(pixel: float) -> Vision:
    return atari_games.make_vision_of_pictures(torch.full(_STACK, float(pixel) / 255.0))


def _measure_frames_past_end(inputs: Inputs) -> np.ndarray:
    return atari_play.play_end_within_action(
        atari_games.make_player_of_transforms(FrameSkipTransform(_SKIP)), inputs
    )


def _measure_advantages_at_lost_life(inputs: Inputs) -> np.ndarray:
    value = TensorDictModule(torch.nn.Identity(), ["observation"], ["state_value"])
    advantages = []
    for is_announced in (False, True):
        estimator = GAE(gamma=inputs["discount"], lmbda=0.95, value_network=value)
        if is_announced:
            EndOfLifeTransform().register_keys(estimator)
        step = _make_batch_of_lost_life(inputs)
        estimator(step)
        advantages.append(float(step["advantage"]))
    return np.array(advantages)


def _make_batch_of_lost_life(inputs: Inputs) -> TensorDict:
    def make_column(number: Any, **options: Any) -> torch.Tensor:
        return torch.full((1, 1, 1), number, **options)

    following = {
        "observation": make_column(inputs["next_value"]),
        "reward": make_column(inputs["reward"]),
        "done": make_column(False),
        "terminated": make_column(False),
        "end-of-life": make_column(True),
    }
    observation = make_column(inputs["value"])
    return TensorDict({"observation": observation, "next": TensorDict(following, [1, 1])}, [1, 1])


def _measure_scaling_by_transform(inputs: Inputs) -> np.ndarray:
    """Return each scaled pixel twice: policy and value read the same entry of a transform."""
    recorded = []
    for pixel in inputs["pixels"]:
        game = AtariGame(first_pixel=int(pixel))
        observation = float(
            atari_games.make_player_of_transforms(ToTensorImage(), game=game).reset()[0, 0, 0]
        )
        recorded += [observation, observation]
    return np.array(recorded)


def _measure_scaling_by_program(inputs: Inputs) -> np.ndarray:
    first, second = (int(pixel) for pixel in inputs["pixels"])
    # making the environments has started the game once
    player = atari_games.make_player_of_whole_game(lambda: AtariGame(first_pixel=first))
    with atari_games.fix_random_integers_to_extreme(largest=False):
        observation = [player.reset()]
    for _ in range(_SKIP):
        player.game.queue_frame(pixel=second)
    observation.append(player.step(0).observation)
    pictures = [torch.as_tensor(s, dtype=torch.float32).reshape(_STACK) for s in observation]
    visions = [atari_games.make_vision_of_pictures(p) for p in pictures]
    return np.concatenate([atari_vision.measure_inputs_at_corner(vision) for vision in visions])


#: scope -> its preprocessing, and the details that are measured as those of other frameworks
_MEASURED: Mapping[str, tuple[atari.Preprocessing, Sequence[str]]] = {
    "library": (
        atari.Preprocessing(
            _make_player_in_library,
            _make_player_of_noops_in_library,
            partial(_make_player_of_stack, lambda: CatFrames(N=4, dim=-3)),
            atari_games.make_player_waiting_at_reset,
            _make_vision,
        ),
        (
            "atari.noop_reset", "atari.episodic_life", "atari.max_and_skip",
            "atari.max_and_skip.end", "atari.max_and_skip.stale", "atari.frame_stack",
        ),
    ),
    "script": (
        atari.Preprocessing(
            _make_player_in_program,
            _make_player_of_noops_in_program,
            partial(
                _make_player_of_stack, lambda: atari_games.copy_program_transforms("CatFrames")[0]
            ),
            atari_games.make_player_waiting_at_reset,
            _make_vision,
        ),
        (
            "atari.noop_reset", "atari.fire_reset", "atari.episodic_life", "atari.max_and_skip",
            "atari.max_and_skip.end", "atari.max_and_skip.stale", "atari.warp_frame",
            "atari.frame_stack", "atari.clip_reward", "atari.activation", "atari.shared_trunk",
            "atari.networks", "atari.wrapper_order",
        ),
    ),
}  # fmt: skip
PROBES: Mapping[tuple[str, str], Probe] = {
    **{
        (id, scope): partial(atari.MEASUREMENTS[id], preprocessing)
        for scope, (preprocessing, ids) in _MEASURED.items()
        for id in ids
    },
    ("atari.episodic_life.loss_key", "library"): _measure_advantages_at_lost_life,
    ("atari.frame_skip.past_end", "library"): _measure_frames_past_end,
    ("atari.image_scaling", "library"): _measure_scaling_by_transform,
    ("atari.image_scaling", "script"): _measure_scaling_by_program,
}
ABSENT: Mapping[str, str] = {
    "atari.fire_reset.stale": "nothing presses FIRE on reset, see atari.fire_reset",
    "atari.episodic_life.over": "a lost life is no reset, so that no action follows it",
}


def make_atari_player(make_env: Callable[[], Any]) -> Player:
    """Return a player of the game that ``make_env`` makes, in all transforms of a training."""
    with isolate_random_generators(), silence_and_speed_up_torchrl():
        return atari_games.make_player_of_whole_game(make_env)

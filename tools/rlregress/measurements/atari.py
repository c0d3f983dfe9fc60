"""The details of Atari preprocessing, each measured by a game that is played through it.

Wrappers have the names that they have in OpenAI's Baselines, from which frameworks took them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlregress.environments import atari_play, atari_vision
from rlregress.environments.atari_fake import AtariGame
from rlregress.environments.atari_play import Player
from rlregress.environments.atari_vision import Vision

Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class Preprocessing:
    """A framework's preprocessing, whole and in parts.

    Attributes:
        part: (game, name of a wrapper) -> the game through that wrapper alone.
        waiting: (whether draws are the most that they can be) -> a game without FIRE through the
            wrapper that waits on reset.
        stacked: () -> a game whose frames are stacked.
        whole: (makes a game, frames to wait on reset) -> the game through everything.
        vision: pixel -> the default networks for images, looking at four frames of this colour.
    """

    part: Callable[[AtariGame, str], Player]
    waiting: Callable[[bool], Player]
    stacked: Callable[[], Player]
    whole: Callable[[Callable[[], AtariGame], int], Player]
    vision: Callable[[float], Vision]


Measure = Callable[[Preprocessing, Inputs], np.ndarray]


def _play_scene(name: str, scene: Callable[..., np.ndarray]) -> Measure:
    """Play a scene without inputs through one wrapper."""
    return lambda own, i: scene(own.part(AtariGame(), name))


def _play_inputs(name: str, scene: Callable[..., np.ndarray]) -> Measure:
    """Play a scene with inputs through one wrapper."""
    return lambda own, i: scene(own.part(AtariGame(), name), i)


def _show_pixel(scene: Callable[..., np.ndarray]) -> Measure:
    return lambda own, i: scene(own.vision(i["pixel"]))


def noop_reset(own: Preprocessing, i: Inputs) -> np.ndarray:
    """Return the fewest and the most frames that a reset waits."""
    return atari_play.noops(*(atari_play.opening(own.waiting(most)) for most in (False, True)))


def fire_reset(own: Preprocessing, i: Inputs) -> np.ndarray:
    """Return the actions of a reset, in a game with FIRE and in one without."""
    parts = (own.part(AtariGame(fire=fire), "FireResetEnv") for fire in (True, False))
    return atari_play.fires(*map(atari_play.opening, parts))


def warp_frame(own: Preprocessing, i: Inputs) -> np.ndarray:
    """Return size and colours of a picture that is made smaller."""
    game = AtariGame(shape=i["picture"].shape, picture=i["picture"])
    return atari_play.warped(own.part(game, "WarpFrame"), i)


def image_scaling(own: Preprocessing, i: Inputs) -> np.ndarray:
    """Return the inputs of policy and value network, of each pixel."""
    return np.concatenate([atari_vision.entering(own.vision(pixel)) for pixel in i["pixels"]])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Measure] = {
    "atari.noop_reset": noop_reset,
    "atari.fire_reset": fire_reset,
    "atari.fire_reset.stale": _play_scene("FireResetEnv", atari_play.ended_by_second_action),
    "atari.episodic_life": _play_scene("EpisodicLifeEnv", atari_play.life_lost),
    "atari.episodic_life.over": _play_scene("EpisodicLifeEnv", atari_play.over_after_life_lost),
    "atari.max_and_skip": _play_inputs("MaxAndSkipEnv", atari_play.one_action),
    "atari.max_and_skip.end": _play_inputs("MaxAndSkipEnv", atari_play.end_within_action),
    "atari.max_and_skip.stale": _play_inputs("MaxAndSkipEnv", atari_play.final_observation),
    "atari.warp_frame": warp_frame,
    "atari.frame_stack": lambda own, i: atari_play.stacks(own.stacked()),
    "atari.clip_reward": _play_inputs("ClipRewardEnv", atari_play.rewards),
    "atari.image_scaling": image_scaling,
    "atari.activation": _show_pixel(atari_vision.activations),
    "atari.shared_trunk": _show_pixel(atari_vision.count_used_pixels),
    "atari.networks": _show_pixel(atari_vision.sizes),
    "atari.wrapper_order": lambda own, i: atari_play.whole_game(
        own.whole(AtariGame, int(i["noops"]))
    ),
}
#: detail -> why preprocessing of this kind has none
ABSENT: Mapping[str, str] = {
    "atari.episodic_life.loss_key": "a lost life ends the episode: there is no flag of its own",
    "atari.frame_skip.past_end": "frames are skipped by one wrapper only, see atari.max_and_skip",
}

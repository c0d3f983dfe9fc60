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
    """Makers of players: a fake game behind a framework's preprocessing, or single wrappers of it.

    Attributes:
        part: (game, name of a wrapper) -> a player of the game through that wrapper alone.
        waiting: (whether draws are as large as possible) -> a player of a game without FIRE through
            the wrapper that takes no-ops on reset.
        stacked: () -> a player of a game whose frames are stacked.
        whole: (makes a game, no-ops on reset) -> a player of the game through all wrappers.
        vision: pixel -> the default networks for images, with four frames of this colour as input.
    """

    part: Callable[[AtariGame, str], Player]
    waiting: Callable[[bool], Player]
    stacked: Callable[[], Player]
    whole: Callable[[Callable[[], AtariGame], int], Player]
    vision: Callable[[float], Vision]


Measure = Callable[[Preprocessing, Inputs], np.ndarray]


def _make_scene_measurement(wrapper: str, scene: Callable[..., np.ndarray]) -> Measure:
    """Return a measurement: the result of a scene of ``atari_play`` behind a wrapper."""
    return lambda own, i: scene(own.part(AtariGame(), wrapper))


def _make_scene_measurement_with_inputs(wrapper: str, scene: Callable[..., np.ndarray]) -> Measure:
    """Return a measurement as ``_make_scene_measurement``; the scene gets the inputs, too."""
    return lambda own, i: scene(own.part(AtariGame(), wrapper), i)


def _make_image_network_measurement(scene: Callable[..., np.ndarray]) -> Measure:
    return lambda own, i: scene(own.vision(i["pixel"]))


def measure_noop_reset(preprocessing: Preprocessing, inputs: Inputs) -> np.ndarray:
    """Return the fewest and the most no-ops of a reset, and 1 if all its actions are no-ops."""
    return atari_play.summarize_noop_resets(
        *(atari_play.list_actions_of_reset(preprocessing.waiting(most)) for most in (False, True))
    )


def measure_fire_reset(preprocessing: Preprocessing, inputs: Inputs) -> np.ndarray:
    """Return number, first and second of a reset's actions; their number in a game without FIRE."""
    parts = (preprocessing.part(AtariGame(fire=fire), "FireResetEnv") for fire in (True, False))
    return atari_play.summarize_fire_resets(*map(atari_play.list_actions_of_reset, parts))


def measure_resized_frame(preprocessing: Preprocessing, inputs: Inputs) -> np.ndarray:
    """Return height, width and the colours of two pixels of a resized picture."""
    game = AtariGame(shape=inputs["picture"].shape, picture=inputs["picture"])
    return atari_play.play_warped_frame(preprocessing.part(game, "WarpFrame"), inputs)


def measure_image_scaling(preprocessing: Preprocessing, inputs: Inputs) -> np.ndarray:
    """Return for each pixel the inputs that policy and value network get."""
    return np.concatenate(
        [
            atari_vision.measure_inputs_at_corner(preprocessing.vision(pixel))
            for pixel in inputs["pixels"]
        ]
    )


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Measure] = {
    "atari.noop_reset": measure_noop_reset,
    "atari.fire_reset": measure_fire_reset,
    "atari.fire_reset.stale": _make_scene_measurement(
        "FireResetEnv", atari_play.play_reset_ended_by_second_action
    ),
    "atari.episodic_life": _make_scene_measurement("EpisodicLifeEnv", atari_play.play_lost_lives),
    "atari.episodic_life.over": _make_scene_measurement(
        "EpisodicLifeEnv", atari_play.play_reset_after_lost_life
    ),
    "atari.max_and_skip": _make_scene_measurement_with_inputs(
        "MaxAndSkipEnv", atari_play.play_one_action
    ),
    "atari.max_and_skip.end": _make_scene_measurement_with_inputs(
        "MaxAndSkipEnv", atari_play.play_end_within_action
    ),
    "atari.max_and_skip.stale": _make_scene_measurement_with_inputs(
        "MaxAndSkipEnv", atari_play.play_final_observation
    ),
    "atari.warp_frame": measure_resized_frame,
    "atari.frame_stack": lambda own, i: atari_play.play_stacked_frames(own.stacked()),
    "atari.clip_reward": _make_scene_measurement_with_inputs(
        "ClipRewardEnv", atari_play.play_rewards
    ),
    "atari.image_scaling": measure_image_scaling,
    "atari.activation": _make_image_network_measurement(atari_vision.measure_activation_ranges),
    "atari.shared_trunk": _make_image_network_measurement(atari_vision.count_parameters_by_output),
    "atari.networks": _make_image_network_measurement(atari_vision.list_layer_sizes),
    "atari.wrapper_order": lambda own, i: atari_play.play_game_through_all_wrappers(
        own.whole(AtariGame, i["noops"])
    ),
}
#: detail -> why preprocessing of this kind has none
ABSENT: Mapping[str, str] = {
    "atari.episodic_life.loss_key": "a lost life ends the episode, and no separate flag marks it",
    "atari.frame_skip.past_end": "frames are skipped by one wrapper only, see atari.max_and_skip",
}

"""Probes of Atari preprocessing: ``AtariWrapper``, ``make_atari_env`` and the policy for images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.environments import atari_play, atari_vision
from rlregress.environments.atari_fake import AtariGame, Lucky
from rlregress.environments.atari_play import Player
from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.observe.helpers import atari_games
from rlregress.probing.interface import Inputs, Probe


def _lucky(most: bool) -> AtariGame:
    game = AtariGame(fire=False)
    game.np_random = Lucky(gyms.generator(0), most)  # type: ignore[assignment]
    return game


def _noop_reset(inputs: Inputs) -> np.ndarray:
    del inputs
    openings = [
        atari_play.opening(atari_games.part("NoopResetEnv", _lucky(most))) for most in (False, True)
    ]
    return atari_play.noops(*openings)


def _fire_reset(inputs: Inputs) -> np.ndarray:
    del inputs
    games = (AtariGame(), AtariGame(fire=False))
    return atari_play.fires(
        *(atari_play.opening(atari_games.part("FireResetEnv", game)) for game in games)
    )


def _play_scene(name: str, scene: Callable[..., np.ndarray]) -> Probe:
    """A scene without inputs, through one wrapper."""
    return lambda inputs: scene(atari_games.part(name))


def _with(name: str, scene: Callable[..., np.ndarray]) -> Probe:
    """A scene with inputs, through one wrapper."""
    return lambda inputs: scene(atari_games.part(name), inputs)


def _warp_frame(inputs: Inputs) -> np.ndarray:
    picture = inputs["picture"]
    game = AtariGame(shape=picture.shape, picture=picture)
    return atari_play.warped(atari_games.part("WarpFrame", game), inputs)


def _frame_stack(inputs: Inputs) -> np.ndarray:
    del inputs
    return atari_play.stacks(atari_games.stacked(AtariGame(shape=(36, 36, 1))))


def _wrapper_order(inputs: Inputs) -> np.ndarray:
    return atari_play.whole_game(atari_games.play_whole(AtariGame, int(inputs["noops"])))


def _image_scaling(inputs: Inputs) -> np.ndarray:
    return np.concatenate(
        [atari_vision.entering(atari_games.vision(pixel)) for pixel in inputs["pixels"]]
    )


def _network(question: Callable[..., np.ndarray]) -> Probe:
    return lambda inputs: question(atari_games.vision(inputs["pixel"]))


PROBES: Mapping[str, Probe] = {
    "atari.noop_reset": _noop_reset,
    "atari.fire_reset": _fire_reset,
    "atari.fire_reset.stale": _play_scene("FireResetEnv", atari_play.ended_by_second_action),
    "atari.episodic_life": _play_scene("EpisodicLifeEnv", atari_play.life_lost),
    "atari.episodic_life.over": _play_scene("EpisodicLifeEnv", atari_play.over_after_life_lost),
    "atari.max_and_skip": _with("MaxAndSkipEnv", atari_play.one_action),
    "atari.max_and_skip.end": _with("MaxAndSkipEnv", atari_play.end_within_action),
    "atari.max_and_skip.stale": _with("MaxAndSkipEnv", atari_play.final_observation),
    "atari.warp_frame": _warp_frame,
    "atari.frame_stack": _frame_stack,
    "atari.clip_reward": _with("ClipRewardEnv", atari_play.rewards),
    "atari.image_scaling": _image_scaling,
    "atari.activation": _network(atari_vision.activations),
    "atari.shared_trunk": _network(atari_vision.used_pixels),
    "atari.networks": _network(atari_vision.sizes),
    "atari.wrapper_order": _wrapper_order,
}
ABSENT: Mapping[str, str] = {
    "atari.episodic_life.loss_key": "a lost life ends the episode: there is no flag of its own",
    "atari.frame_skip.past_end": "frames are skipped by one wrapper only, see atari.max_and_skip",
}


def play_atari(make_env: Callable[[], Any]) -> Player:
    """A game of ``make_env`` through everything that surrounds it in a training."""
    return atari_games.play_whole(make_env)

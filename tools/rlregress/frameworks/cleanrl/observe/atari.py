"""Probes of Atari preprocessing: ``make_env`` and ``Agent`` of ``ppo_atari.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.environments import atari_play, atari_vision
from rlregress.environments.atari_fake import AtariGame, Lucky
from rlregress.environments.atari_play import Player
from rlregress.frameworks.cleanrl.observe.helpers import atari_games
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs

_WARPING = ("WarpFrame", "ResizeObservation", "GrayScaleObservation", "GrayscaleObservation")
_STACKING = ("FrameStack", "FrameStackObservation", "ImageToPyTorch")


def _noop_reset(source: Source, inputs: Inputs) -> np.ndarray:
    del inputs
    openings = []
    for most in (False, True):
        game = AtariGame(fire=False)
        alone = atari_games.layers(source, game, "NoopResetEnv")
        inner = alone.unwrapped
        # 0.4.8 asks a generator of the old kind
        is_new = hasattr(inner.np_random, "integers")
        generator = np.random.default_rng(0) if is_new else np.random.RandomState(0)
        inner.np_random = Lucky(generator, most)
        openings.append(atari_play.opening(atari_games.play(alone, game)))
    return atari_play.noops(*openings)


def _fire_reset(source: Source, inputs: Inputs) -> np.ndarray:
    del inputs
    games = (AtariGame(), AtariGame(fire=False))
    parts = [atari_games.part(source, ["FireResetEnv"], game) for game in games]
    return atari_play.fires(*map(atari_play.opening, parts))


def _play_scene(name: str, scene: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A scene without inputs, through one wrapper."""
    return lambda source, inputs: scene(atari_games.part(source, [name]))


def _with(name: str, scene: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A scene with inputs, through one wrapper."""
    return lambda source, inputs: scene(atari_games.part(source, [name]), inputs)


def _warp_frame(source: Source, inputs: Inputs) -> np.ndarray:
    picture = inputs["picture"]
    game = AtariGame(shape=picture.shape, picture=picture)
    return atari_play.warped(atari_games.part(source, _WARPING, game), inputs)


def _frame_stack(source: Source, inputs: Inputs) -> np.ndarray:
    del inputs
    return atari_play.stacks(atari_games.part(source, [*_WARPING, *_STACKING]))


def _wrapper_order(source: Source, inputs: Inputs) -> np.ndarray:
    return atari_play.whole_game(atari_games.play_whole(source, AtariGame, int(inputs["noops"])))


def _image_scaling(source: Source, inputs: Inputs) -> np.ndarray:
    return np.concatenate(
        [atari_vision.entering(atari_games.vision(source, pixel)) for pixel in inputs["pixels"]]
    )


def _network(question: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda source, inputs: question(atari_games.vision(source, inputs["pixel"]))


PROBES: Mapping[str, Callable[..., np.ndarray]] = {
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


def play_atari(make_env: Callable[[], Any], source: Source) -> Player:
    """A game of ``make_env`` through everything that surrounds it in a training."""
    return atari_games.play_whole(source, make_env)

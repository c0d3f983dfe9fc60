"""Probes of the Atari preprocessing and network of ``ppo_atari.py``, on a game that they control.

The script is run until it has made its environments. To probe one wrapper, its class is looked up
there, and put around the bare game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.environments.atari_fake import AtariGame, ExtremeGenerator
from rlregress.environments.atari_play import Player, Step
from rlregress.environments.atari_vision import Vision, skip_large_initialisation
from rlregress.frameworks.cleanrl.observe.helpers.ppo_trainings import find_acting_method
from rlregress.frameworks.cleanrl.running import ScriptRun, start_script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements import atari
from rlregress.measurements.atari import ABSENT
from rlregress.probing.interface import Inputs

__all__ = ["ABSENT", "PROBES", "make_atari_player"]

_SCRIPT = "ppo_atari"
_WARPING = ("WarpFrame", "ResizeObservation", "GrayScaleObservation", "GrayscaleObservation")
_STACKING = ("FrameStack", "FrameStackObservation", "ImageToPyTorch")


def _start_script_on_game(source: Source, game: Any) -> ScriptRun:
    """Run the script until it resets its one environment; return its variables of that moment."""
    with skip_large_initialisation():
        return start_script(
            source.parse_script(_SCRIPT).path, {"num_envs": 1, "num_steps": 1}, lambda: game
        )


def _make_environment_of_game(source: Source, game: Any) -> Any:
    """Return the environment that ``make_env`` of the script makes of the game."""
    return _start_script_on_game(source, game)["envs"].envs[0]


def _wrap_game(source: Source, game: Any, *names: str) -> Any:
    """Return the game in the wrappers of these names, the innermost first, and in no others.

    Those that ``make_env`` does not use are left out.
    """
    outer = _make_environment_of_game(source, game)
    inner, wrappers = outer.unwrapped, []
    while outer is not inner:
        if type(outer).__name__ in names:
            wrappers.append(outer)
        outer = outer.env
    for wrapper in reversed(wrappers):
        wrapper.env = inner
        inner = wrapper
    return inner


def _convert_to_pictures(observation: Any) -> np.ndarray:
    """Return pictures, colours last, or a single one, as [frames or colours, height, width]."""
    pictures = np.asarray(observation, dtype=np.float64)
    if pictures.ndim == 2:
        return pictures[None]
    return np.moveaxis(pictures, -1, 0) if pictures.shape[-1] in (1, 3) else pictures


class _PictureEnv:
    """An environment with the interface of gym 0.17 or of Gymnasium."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self.reported = float("nan")

    def reset(self) -> np.ndarray:
        observation = self._environment.reset()
        return _convert_to_pictures(
            observation[0] if isinstance(observation, tuple) else observation
        )

    def step(self, action: int) -> Step:
        observation, reward, *ends, info = self._environment.step(action)
        if "episode" in info:
            self.reported = float(np.asarray(info["episode"]["r"]))
        return Step(_convert_to_pictures(observation), float(reward), any(map(bool, ends)))


def _make_player(environment: Any, game: Any) -> Player:
    """Return a player of an environment; only the player's own ``reset`` resets it."""
    played = _PictureEnv(environment)
    return Player(game, played.reset, played.step, lambda: played.reported)


def _make_player_of_wrapper(source: Source, game: AtariGame, name: str) -> Player:
    """Return a player of a game in one wrapper; "WarpFrame" is two in scripts for Gymnasium."""
    return _make_player(
        _wrap_game(source, game, *(_WARPING if name == "WarpFrame" else (name,))), game
    )


def _make_player_of_stack(source: Source) -> Player:
    """Return a player of the frame stack, on resized pictures."""
    game = AtariGame()
    return _make_player(_wrap_game(source, game, *_WARPING, *_STACKING), game)


def _make_player_of_noop_wrapper(source: Source, longest: bool) -> Player:
    """Return a player of ``NoopResetEnv``, with the most or the fewest no-ops at a reset."""
    game = AtariGame(fire=False)
    alone = _wrap_game(source, game, "NoopResetEnv")
    inner = alone.unwrapped
    # scripts of 0.4.8 need a RandomState
    is_new = hasattr(inner.np_random, "integers")
    generator = np.random.default_rng(0) if is_new else np.random.RandomState(0)
    inner.np_random = ExtremeGenerator(generator, longest)
    return _make_player(alone, game)


def make_atari_player(
    make_env: Callable[[], Any], source: Source, noops: int | None = None
) -> Player:
    """Return a player of the game of ``make_env`` within all wrappers of a training.

    Args:
        noops: number of no-ops on reset; None: a random number.
    """
    game = make_env()
    outside = _make_environment_of_game(source, game)
    if noops is not None:
        inner = outside
        while type(inner).__name__ != "NoopResetEnv":
            inner = inner.env
        inner.override_num_noops = noops
    return _make_player(outside, game)


def _make_vision_of_constant_image(source: Source, pixel: float) -> Vision:
    """Return a new agent of the script, with its logits and value for frames of one colour."""
    agent = _start_script_on_game(source, AtariGame())["agent"]
    query = find_acting_method(agent)
    observation = torch.full((1, 4, 84, 84), float(pixel))
    actions_in_turn = torch.arange(4)

    def compute_logits() -> torch.Tensor:
        # one action after the other, as the scripts return log-probabilities of actions only
        return query(observation.expand(4, -1, -1, -1), actions_in_turn)[1]

    return Vision(agent, compute_logits, lambda: agent.get_value(observation))


def _make_probe(measure: atari.Measure) -> Callable[..., Any]:
    def measure_source(source: Source, inputs: Inputs) -> np.ndarray:
        preprocessing = atari.Preprocessing(
            partial(_make_player_of_wrapper, source),
            partial(_make_player_of_noop_wrapper, source),
            partial(_make_player_of_stack, source),
            lambda make_env, noops: make_atari_player(make_env, source, noops),
            partial(_make_vision_of_constant_image, source),
        )
        return measure(preprocessing, inputs)

    return measure_source


PROBES: Mapping[str, Callable[..., Any]] = {
    id: _make_probe(measure) for id, measure in atari.MEASUREMENTS.items()
}

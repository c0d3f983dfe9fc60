"""The Atari preprocessing of ``ppo_atari.py``, around a game that probes control.

``make_env`` of the script is run. To probe one wrapper, its class is looked up in the environment
that was made, and put around the bare game. Names that newer Gymnasium has changed are provided as
the script knows them; scripts of 0.4.8 get the old interface of ``oldgym``.
"""

from __future__ import annotations

import builtins
import importlib
import types
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.environments.atari_fake import AtariGame, ExtremeGenerator
from rlregress.environments.atari_play import Player, Step
from rlregress.environments.atari_vision import Vision, skip_large_initialisation
from rlregress.frameworks.cleanrl import oldgym
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.slices import run_slice_up_to_anchor
from rlregress.frameworks.cleanrl.stubs import Stub, make_arguments_of_script

SCRIPT = "ppo_atari"
_WARPING = ("WarpFrame", "ResizeObservation", "GrayScaleObservation", "GrayscaleObservation")
_STACKING = ("FrameStack", "FrameStackObservation", "ImageToPyTorch")
_WRAPPERS = "cleanrl_utils/atari_wrappers.py"
#: name that the script knows -> name since Gymnasium 1.0
_RENAMED = {"GrayScaleObservation": "GrayscaleObservation", "FrameStack": "FrameStackObservation"}


def _make_gym_with_old_wrapper_names(make_env: Callable[[str], Any]) -> Stub:
    """Return a stand-in for ``gym`` whose wrappers also have their names of Gymnasium 0.29."""
    wrappers = types.SimpleNamespace(**vars(gymnasium.wrappers))
    for old, new in _RENAMED.items():
        if not hasattr(wrappers, old):
            setattr(wrappers, old, getattr(gymnasium.wrappers, new))
    return Stub(make=lambda id, **_: make_env(id), wrappers=wrappers, spaces=gymnasium.spaces)


def _make_environment(make_env: Any, *arguments: Any) -> Any:
    # NumPy imports some of its modules on first use, by the builtins of its caller
    make_env.__globals__.setdefault("__builtins__", builtins)
    return make_env("ProbeNoFrameskip-v4", 0, *arguments)()


def make_environment_of_game(source: Source, game: Any) -> Any:
    """Return the environment that ``make_env`` of the script makes of the game."""
    script = source.parse_script(SCRIPT)
    place = script.find_statement_binding("environment", "make_env")
    variables = {
        "args": make_arguments_of_script(script, capture_video=False),
        "experiment_name": "probe",
    }
    if source.has_file(_WRAPPERS):
        wrappers = vars(source.load_module(_WRAPPERS))
        variables.update({name: w for name, w in wrappers.items() if isinstance(w, type)})
        variables["gym"] = _make_gym_with_old_wrapper_names(lambda _: game)
        return _make_environment(
            run_slice_up_to_anchor(place, variables)["make_env"], False, "probe"
        )
    old = oldgym.make_stub_modules(lambda _: game, lambda *_: None)["gym"]
    variables.update(gym=old, spaces=gymnasium.spaces, Monitor=old.wrappers.Monitor)
    # imported by the script; a slice runs no import of it
    variables["cv2"] = importlib.import_module("cv2")
    # a class that is defined after the one that uses it
    frames = script.find_statement_binding("stack of frames", "LazyFrames")
    variables["LazyFrames"] = run_slice_up_to_anchor(frames, {})["LazyFrames"]
    return _make_environment(run_slice_up_to_anchor(place, variables)["make_env"], 0)


def wrap_game(source: Source, game: Any, *names: str) -> Any:
    """Return the game in the wrappers of these names, the innermost first, and in no others.

    Those that ``make_env`` does not use are left out.
    """
    outer = make_environment_of_game(source, game)
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


def make_player(environment: Any, game: Any) -> Player:
    """Return a player of an environment; only the player's own ``reset`` resets it."""
    played = _PictureEnv(environment)
    return Player(game, played.reset, played.step, lambda: played.reported)


def make_player_of_wrapper(source: Source, game: AtariGame, name: str) -> Player:
    """Return a player of a game in one wrapper; "WarpFrame" is two in scripts for Gymnasium."""
    return make_player(
        wrap_game(source, game, *(_WARPING if name == "WarpFrame" else (name,))), game
    )


def make_player_of_stack(source: Source) -> Player:
    """Return a player of the frame stack, on resized pictures."""
    game = AtariGame()
    return make_player(wrap_game(source, game, *_WARPING, *_STACKING), game)


def make_player_of_noop_wrapper(source: Source, longest: bool) -> Player:
    """Return a player of ``NoopResetEnv``, with the most or the fewest no-ops at a reset."""
    game = AtariGame(fire=False)
    alone = wrap_game(source, game, "NoopResetEnv")
    inner = alone.unwrapped
    # scripts of 0.4.8 need a RandomState
    is_new = hasattr(inner.np_random, "integers")
    generator = np.random.default_rng(0) if is_new else np.random.RandomState(0)
    inner.np_random = ExtremeGenerator(generator, longest)
    return make_player(alone, game)


def make_player_of_whole_game(
    source: Source, make_env: Callable[[], Any], noops: int | None = None
) -> Player:
    """Return a player of the game within all wrappers of the script's ``make_env``.

    Args:
        source: the copy of the scripts.
        make_env: makes the game.
        noops: number of no-ops on reset; None: a random number.
    """
    game = make_env()
    outside = make_environment_of_game(source, game)
    if noops is not None:
        inner = outside
        while type(inner).__name__ != "NoopResetEnv":
            inner = inner.env
        inner.override_num_noops = noops
    return make_player(outside, game)


def make_vision_of_constant_image(source: Source, pixel: float) -> Vision:
    """Return a new agent of the script, with its logits and value for frames of one colour."""
    script = source.parse_script(SCRIPT)
    make = run_slice_up_to_anchor(
        script.find_statement_binding("agent", "Agent"), {"args": make_arguments_of_script(script)}
    )["Agent"]
    actions = gymnasium.spaces.Discrete(4)
    with skip_large_initialisation():
        agent = make(Stub(action_space=actions, single_action_space=actions))
    query = getattr(agent, "get_action_and_value", None) or agent.get_action
    observation = torch.full((1, 4, 84, 84), float(pixel))
    actions_in_turn = torch.arange(4)

    def compute_logits() -> torch.Tensor:
        # one action after the other, as the scripts return log-probabilities of actions only
        return query(observation.expand(4, -1, -1, -1), actions_in_turn)[1]

    return Vision(agent, compute_logits, lambda: agent.get_value(observation))

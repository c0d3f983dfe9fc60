"""Probes of Atari preprocessing: the transforms, and ``utils_atari.py`` of the PPO program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from rlregress.environments import atari_play, atari_vision
from rlregress.environments.atari_fake import AtariGame
from rlregress.environments.atari_play import Player
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
from rlregress.frameworks.torchrl.quiet import silence_torchrl
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.isolation import isolate_generators

Scene = Callable[..., np.ndarray]

_SKIP = 4
_STACK = (1, 4, 84, 84)


def _base(**options: Any) -> Player:
    game = AtariGame()
    return atari_games.play(atari_games.make_base_environment(game, **options), game)


def _noop_reset(make: Callable[[], Player]) -> np.ndarray:
    openings = []
    for most in (False, True):
        player = make()
        with atari_games.extreme_random_integers(most):
            openings.append(atari_play.opening(player))
    return atari_play.noops(*openings)


def _noop_reset_library(inputs: Inputs) -> np.ndarray:
    del inputs
    return _noop_reset(lambda: atari_games.play_through_transforms(NoopResetEnv()))


def _noop_reset_script(inputs: Inputs) -> np.ndarray:
    del inputs
    return _noop_reset(lambda: _base(frame_skip=1))


def _fire_reset(inputs: Inputs) -> np.ndarray:
    del inputs
    openings = []
    for fire in (True, False):
        game = AtariGame(fire=fire)
        with atari_games.extreme_random_integers(largest=False):
            openings.append(
                atari_play.opening(atari_games.play(atari_games.make_base_environment(game), game))
            )
    return atari_play.fires(*openings)


def _wrapper_skips(scene: Scene) -> Probe:
    """Play a scene with inputs through the frame skip of the wrapper of Gymnasium environments."""
    return lambda inputs: scene(atari_games.play_through_transforms(frame_skip=_SKIP), inputs)


def _program_skips(scene: Scene) -> Probe:
    """Play a scene with inputs through the frame skip of the program."""
    return lambda inputs: scene(_base(), inputs)


def _past_end(inputs: Inputs) -> np.ndarray:
    return atari_play.end_within_action(
        atari_games.play_through_transforms(FrameSkipTransform(_SKIP)), inputs
    )


def _loss_key(inputs: Inputs) -> np.ndarray:
    value = TensorDictModule(torch.nn.Identity(), ["observation"], ["state_value"])
    advantages = []
    for registered in (False, True):
        estimator = GAE(gamma=inputs["discount"], lmbda=0.95, value_network=value)
        if registered:
            EndOfLifeTransform().register_keys(estimator)
        step = _life_lost(inputs)
        estimator(step)
        advantages.append(float(step["advantage"]))
    return np.array(advantages)


def _life_lost(inputs: Inputs) -> TensorDict:
    def column(number: Any, **options: Any) -> torch.Tensor:
        return torch.full((1, 1, 1), number, **options)

    following = {
        "observation": column(inputs["next_value"]),
        "reward": column(inputs["reward"]),
        "done": column(False),
        "terminated": column(False),
        "end-of-life": column(True),
    }
    observation = column(inputs["value"])
    return TensorDict({"observation": observation, "next": TensorDict(following, [1, 1])}, [1, 1])


def _warp_frame(inputs: Inputs) -> np.ndarray:
    picture = inputs["picture"]
    game = AtariGame(shape=picture.shape, picture=picture)
    warping = atari_games.find_transforms("RenameTransform", "ToTensorImage", "GrayScale", "Resize")
    with atari_games.enable_resizing():
        player = atari_games.play_through_transforms(*warping, game=game)
    return atari_play.warped(atari_games.unscale_observations(player), inputs)


def _large() -> AtariGame:
    # the stack of the program has been made for pictures of this size
    return AtariGame(shape=(84, 84, 3))


def _frame_stack(stack: Callable[[], Any]) -> Probe:
    return lambda inputs: atari_play.stacks(
        atari_games.unscale_observations(
            atari_games.play_through_transforms(
                ToTensorImage(), GrayScale(), stack(), game=_large()
            )
        )
    )


def _clip_reward(inputs: Inputs) -> np.ndarray:
    return atari_play.rewards(
        atari_games.play_through_transforms(*atari_games.find_transforms("SignTransform")), inputs
    )


def _scaled_by_transform(inputs: Inputs) -> np.ndarray:
    """Measure the scaling: policy and value read the same entry, which the transform writes."""
    recorded = []
    for pixel in inputs["pixels"]:
        game = AtariGame(first_pixel=int(pixel))
        observation = float(
            atari_games.play_through_transforms(ToTensorImage(), game=game).reset()[0, 0, 0]
        )
        recorded += [observation, observation]
    return np.array(recorded)


def _scaled_by_program(inputs: Inputs) -> np.ndarray:
    first, second = (int(pixel) for pixel in inputs["pixels"])
    # making the environments has started the game once
    player = atari_games.play_whole(lambda: AtariGame(first_pixel=first))
    with atari_games.extreme_random_integers(largest=False):
        observation = [player.reset()]
    for _ in range(_SKIP):
        player.game.play(pixel=second)
    observation.append(player.step(0).observation)
    pictures = [torch.as_tensor(s, dtype=torch.float32).reshape(_STACK) for s in observation]
    return np.concatenate([atari_vision.entering(atari_games.make_vision(p)) for p in pictures])


def _network(question: Scene) -> Probe:
    return lambda inputs: question(
        atari_games.make_vision(torch.full(_STACK, float(inputs["pixel"]) / 255.0))
    )


def _wrapper_order(inputs: Inputs) -> np.ndarray:
    player = atari_games.play_through_waiting(int(inputs["noops"]))
    # whatever is done while waiting, it is not FIRE
    with atari_games.extreme_random_integers(largest=True):
        return atari_play.whole_game(player)


PROBES: Mapping[tuple[str, str], Probe] = {
    ("atari.noop_reset", "library"): _noop_reset_library,
    ("atari.noop_reset", "script"): _noop_reset_script,
    ("atari.fire_reset", "script"): _fire_reset,
    ("atari.episodic_life", "library"): lambda inputs: atari_play.life_lost(
        atari_games.play_through_transforms(EndOfLifeTransform())
    ),
    ("atari.episodic_life", "script"): lambda inputs: atari_play.life_lost(_base(frame_skip=1)),
    ("atari.episodic_life.loss_key", "library"): _loss_key,
    ("atari.max_and_skip", "library"): _wrapper_skips(atari_play.one_action),
    ("atari.max_and_skip", "script"): _program_skips(atari_play.one_action),
    ("atari.max_and_skip.end", "library"): _wrapper_skips(atari_play.end_within_action),
    ("atari.max_and_skip.end", "script"): _program_skips(atari_play.end_within_action),
    ("atari.max_and_skip.stale", "library"): _wrapper_skips(atari_play.final_observation),
    ("atari.max_and_skip.stale", "script"): _program_skips(atari_play.final_observation),
    ("atari.frame_skip.past_end", "library"): _past_end,
    ("atari.warp_frame", "script"): _warp_frame,
    ("atari.frame_stack", "library"): _frame_stack(lambda: CatFrames(N=4, dim=-3)),
    ("atari.frame_stack", "script"): _frame_stack(
        lambda: atari_games.find_transforms("CatFrames")[0]
    ),
    ("atari.clip_reward", "script"): _clip_reward,
    ("atari.image_scaling", "library"): _scaled_by_transform,
    ("atari.image_scaling", "script"): _scaled_by_program,
    ("atari.activation", "script"): _network(atari_vision.activations),
    ("atari.shared_trunk", "script"): _network(atari_vision.count_used_pixels),
    ("atari.networks", "script"): _network(atari_vision.sizes),
    ("atari.wrapper_order", "script"): _wrapper_order,
}
ABSENT: Mapping[str, str] = {
    "atari.fire_reset.stale": "nothing presses FIRE on reset, see atari.fire_reset",
    "atari.episodic_life.over": "a lost life is no reset, so that no action follows it",
}


def play_atari(make_env: Callable[[], Any]) -> Player:
    """Return a game of ``make_env`` through everything that surrounds it in a training."""
    with isolate_generators(), silence_torchrl():
        return atari_games.play_whole(make_env)

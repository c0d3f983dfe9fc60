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
from rlregress.frameworks.torchrl.quiet import silence_and_speed_up_torchrl
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.isolation import isolate_random_generators

Scene = Callable[..., np.ndarray]

_SKIP = 4
_STACK = (1, 4, 84, 84)


def _make_player_of_base_environment(**options: Any) -> Player:
    game = AtariGame()
    return atari_games.make_player(atari_games.make_base_environment(game, **options), game)


def _measure_noop_reset(make_player: Callable[[], Player]) -> np.ndarray:
    openings = []
    for most in (False, True):
        player = make_player()
        with atari_games.fix_random_integers_to_extreme(most):
            openings.append(atari_play.list_actions_of_reset(player))
    return atari_play.summarize_noop_resets(*openings)


def _measure_noop_reset_of_library(inputs: Inputs) -> np.ndarray:
    del inputs
    return _measure_noop_reset(lambda: atari_games.make_player_of_transforms(NoopResetEnv()))


def _measure_noop_reset_of_script(inputs: Inputs) -> np.ndarray:
    del inputs
    return _measure_noop_reset(lambda: _make_player_of_base_environment(frame_skip=1))


def _measure_fire_reset(inputs: Inputs) -> np.ndarray:
    del inputs
    openings = []
    for fire in (True, False):
        game = AtariGame(fire=fire)
        with atari_games.fix_random_integers_to_extreme(largest=False):
            openings.append(
                atari_play.list_actions_of_reset(
                    atari_games.make_player(atari_games.make_base_environment(game), game)
                )
            )
    return atari_play.summarize_fire_resets(*openings)


def _make_probe_of_wrapper_skip(scene: Scene) -> Probe:
    """Return a probe that plays a scene through the frame skip of the wrapper for Gymnasium."""
    return lambda inputs: scene(atari_games.make_player_of_transforms(frame_skip=_SKIP), inputs)


def _make_probe_of_program_skip(scene: Scene) -> Probe:
    """Return a probe that plays a scene through the frame skip of the program."""
    return lambda inputs: scene(_make_player_of_base_environment(), inputs)


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


def _measure_warp_frame(inputs: Inputs) -> np.ndarray:
    picture = inputs["picture"]
    game = AtariGame(shape=picture.shape, picture=picture)
    warping = atari_games.copy_program_transforms(
        "RenameTransform", "ToTensorImage", "GrayScale", "Resize"
    )
    with atari_games.enable_resizing_without_torchvision():
        player = atari_games.make_player_of_transforms(*warping, game=game)
    return atari_play.play_warped_frame(atari_games.unscale_observations(player), inputs)


def _make_game_with_large_picture() -> AtariGame:
    # the stack of the program has been made for pictures of this size
    return AtariGame(shape=(84, 84, 3))


def _make_probe_of_frame_stack(make_stack: Callable[[], Any]) -> Probe:
    return lambda inputs: atari_play.play_stacked_frames(
        atari_games.unscale_observations(
            atari_games.make_player_of_transforms(
                ToTensorImage(), GrayScale(), make_stack(), game=_make_game_with_large_picture()
            )
        )
    )


def _measure_reward_clip(inputs: Inputs) -> np.ndarray:
    return atari_play.play_rewards(
        atari_games.make_player_of_transforms(
            *atari_games.copy_program_transforms("SignTransform")
        ),
        inputs,
    )


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


def _make_probe_of_networks(measure: Scene) -> Probe:
    return lambda inputs: measure(
        atari_games.make_vision_of_pictures(torch.full(_STACK, float(inputs["pixel"]) / 255.0))
    )


def _measure_wrapper_order(inputs: Inputs) -> np.ndarray:
    player = atari_games.make_player_waiting_at_reset(int(inputs["noops"]))
    # whatever is done while waiting, it is not FIRE
    with atari_games.fix_random_integers_to_extreme(largest=True):
        return atari_play.play_game_through_all_wrappers(player)


PROBES: Mapping[tuple[str, str], Probe] = {
    ("atari.noop_reset", "library"): _measure_noop_reset_of_library,
    ("atari.noop_reset", "script"): _measure_noop_reset_of_script,
    ("atari.fire_reset", "script"): _measure_fire_reset,
    ("atari.episodic_life", "library"): lambda inputs: atari_play.play_lost_lives(
        atari_games.make_player_of_transforms(EndOfLifeTransform())
    ),
    ("atari.episodic_life", "script"): lambda inputs: atari_play.play_lost_lives(
        _make_player_of_base_environment(frame_skip=1)
    ),
    ("atari.episodic_life.loss_key", "library"): _measure_advantages_at_lost_life,
    ("atari.max_and_skip", "library"): _make_probe_of_wrapper_skip(atari_play.play_one_action),
    ("atari.max_and_skip", "script"): _make_probe_of_program_skip(atari_play.play_one_action),
    ("atari.max_and_skip.end", "library"): _make_probe_of_wrapper_skip(
        atari_play.play_end_within_action
    ),
    ("atari.max_and_skip.end", "script"): _make_probe_of_program_skip(
        atari_play.play_end_within_action
    ),
    ("atari.max_and_skip.stale", "library"): _make_probe_of_wrapper_skip(
        atari_play.play_final_observation
    ),
    ("atari.max_and_skip.stale", "script"): _make_probe_of_program_skip(
        atari_play.play_final_observation
    ),
    ("atari.frame_skip.past_end", "library"): _measure_frames_past_end,
    ("atari.warp_frame", "script"): _measure_warp_frame,
    ("atari.frame_stack", "library"): _make_probe_of_frame_stack(lambda: CatFrames(N=4, dim=-3)),
    ("atari.frame_stack", "script"): _make_probe_of_frame_stack(
        lambda: atari_games.copy_program_transforms("CatFrames")[0]
    ),
    ("atari.clip_reward", "script"): _measure_reward_clip,
    ("atari.image_scaling", "library"): _measure_scaling_by_transform,
    ("atari.image_scaling", "script"): _measure_scaling_by_program,
    ("atari.activation", "script"): _make_probe_of_networks(atari_vision.measure_activation_ranges),
    ("atari.shared_trunk", "script"): _make_probe_of_networks(
        atari_vision.count_parameters_by_output
    ),
    ("atari.networks", "script"): _make_probe_of_networks(atari_vision.list_layer_sizes),
    ("atari.wrapper_order", "script"): _measure_wrapper_order,
}
ABSENT: Mapping[str, str] = {
    "atari.fire_reset.stale": "nothing presses FIRE on reset, see atari.fire_reset",
    "atari.episodic_life.over": "a lost life is no reset, so that no action follows it",
}


def make_atari_player(make_env: Callable[[], Any]) -> Player:
    """Return a player of the game that ``make_env`` makes, in all transforms of a training."""
    with isolate_random_generators(), silence_and_speed_up_torchrl():
        return atari_games.make_player_of_whole_game(make_env)

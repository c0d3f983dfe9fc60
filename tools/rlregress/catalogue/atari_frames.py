"""Atari preprocessing: treatment of the frames of the game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import atari

_SOURCE = "The 32 details of PPO, Atari"

#: a row of the first colour, four of the second, and so on: 2.5 rows become one.
_COLOURS = np.array([[239, 221, 124], *[[222, 119, 229]] * 4], dtype=np.float64)
_PICTURE = np.broadcast_to(np.tile(_COLOURS, (42, 1))[:, None, :], (210, 160, 3))


def _make_max_and_skip_detail() -> Detail:
    def make_skip_formula(
        frames: int, reduce_rewards: Callable[[Any], float], reduce_pixels: Callable[[Any], float]
    ) -> Formula:
        return lambda i: [frames, reduce_rewards(i["rewards"]), reduce_pixels(i["pixels"])]

    def compute_maximum_of_last_two(pixels: Any) -> float:
        return np.max(pixels[-2:])

    return make_detail(
        "atari.max_and_skip",
        "How often is an action repeated, what is its reward, and which frame is shown?",
        """One action, while the game shows four frames of the single colours ``pixels`` with
        ``rewards``. Where the number of repetitions has no default it is 4. Nothing else touches
        rewards or frames. Observed, [3]: frames that the game has advanced, the reward, the colour
        that the agent is shown (0 to 255).""",
        (f"{_SOURCE} 4", "Mnih et al. 2015"),
        {"pixels": [40.0, 200.0, 120.0, 80.0], "rewards": [1.0, 2.0, 4.0, 8.0]},
        {
            "maximum_of_last_two": (
                "4 frames, sum of rewards, maximum of the last two frames",
                make_skip_formula(4, np.sum, compute_maximum_of_last_two),
            ),
            "last_frame": (
                "4 frames, sum of rewards, the last frame",
                make_skip_formula(4, np.sum, lambda pixels: pixels[-1]),
            ),
            "maximum_of_all": (
                "4 frames, sum of rewards, maximum of all frames",
                make_skip_formula(4, np.sum, np.max),
            ),
            "first_frame": (
                "4 frames, sum of rewards, the first frame",
                make_skip_formula(4, np.sum, lambda pixels: pixels[0]),
            ),
            "mean_of_last_two": (
                "4 frames, sum of rewards, mean of the last two frames",
                make_skip_formula(4, np.sum, lambda pixels: np.mean(pixels[-2:])),
            ),
            "last_reward": (
                "4 frames, the last reward, maximum of the last two frames",
                make_skip_formula(4, lambda rewards: rewards[-1], compute_maximum_of_last_two),
            ),
            "mean_reward": (
                "4 frames, mean of rewards, maximum of the last two frames",
                make_skip_formula(4, np.mean, compute_maximum_of_last_two),
            ),
            "three_frames": (
                "3 frames, sum of rewards, the last frame",
                make_skip_formula(3, lambda rewards: np.sum(rewards[:3]), lambda pixels: pixels[2]),
            ),
            "absent": (
                "one frame for one action",
                make_skip_formula(1, lambda rewards: rewards[0], lambda pixels: pixels[0]),
            ),
        },
        consequence="Objects that the console draws in every other frame only, as it does with "
        "shots, vanish from what the agent sees unless the last two frames are combined.",
    )


def _make_frame_warp_detail() -> Detail:
    def list_shape_and_two_pixels(picture: np.ndarray, inputs: Inputs) -> np.ndarray:
        row, column = int(inputs["row"]), int(inputs["column"])
        pixels = [picture[row, column], picture[row + 1, column]]
        return np.array([*picture.shape[:2], *np.ravel(pixels)[:2]], dtype=np.float64)

    def make_warp_formula(resize_weights: atari.Weights, **options: Any) -> Formula:
        return lambda i: list_shape_and_two_pixels(
            atari.warp_frame_to_grey(i["picture"], resize_weights, **options), i
        )

    return make_detail(
        "atari.warp_frame",
        "How do frames become small and grey?",
        """The game shows ``picture``, [210, 160, 3] from 0 to 255: one row of one colour, four of
        another and so on, so that 2.5 rows make one. No stacking; frames that are scaled to [0, 1]
        are multiplied by 255. Observed, [4]: height and width of what the agent is shown, and its
        pixels in column ``column``, in row ``row`` and the row below.""",
        (f"{_SOURCE} 5", "Mnih et al. 2015"),
        {"picture": _PICTURE, "row": 40, "column": 40},
        {
            "grey_then_area": (
                "grey by BT.601, then means of areas, both rounded",
                make_warp_formula(atari.make_area_weights),
            ),
            "area_then_grey": (
                "means of areas, then grey by BT.601, both rounded",
                make_warp_formula(atari.make_area_weights, grey_first=False),
            ),
            "area_then_grey_bt709": (
                "means of areas, rounded, then grey by BT.709, cut off to whole numbers",
                make_warp_formula(
                    atari.make_area_weights,
                    grey=atari.BT709,
                    grey_first=False,
                    grey_rounding=np.floor,
                ),
            ),
            "grey_then_antialiased": (
                "grey by BT.601 (sum 0.9999), then bilinear with antialiasing, unrounded",
                make_warp_formula(
                    atari.make_antialiased_weights,
                    grey=(0.2989, 0.587, 0.114),
                    rounding=atari.skip_rounding,
                ),
            ),
            "grey_then_bilinear": (
                "grey by BT.601, then bilinear without antialiasing, both rounded",
                make_warp_formula(atari.make_bilinear_weights),
            ),
            "grey_then_bilinear_exact": (
                "grey by BT.601 (sum 0.9999), then bilinear without antialiasing, unrounded",
                make_warp_formula(
                    atari.make_bilinear_weights,
                    grey=(0.2989, 0.587, 0.114),
                    rounding=atari.skip_rounding,
                ),
            ),
            "grey_then_nearest": (
                "grey by BT.601, then the nearest pixel",
                make_warp_formula(atari.make_nearest_weights),
            ),
            "grey_of_bgr_then_area": (
                "grey by BT.601 with red and blue exchanged, then means of areas",
                make_warp_formula(atari.make_area_weights, grey=atari.BT601[::-1]),
            ),
            "mean_grey_then_area": (
                "the mean of the colours, then means of areas",
                make_warp_formula(atari.make_area_weights, grey=(1 / 3, 1 / 3, 1 / 3)),
            ),
            "size_96": (
                "grey by BT.601, then means of areas, 96 by 96",
                make_warp_formula(atari.make_area_weights, size=96),
            ),
            "absent": (
                "frames stay as they are",
                lambda i: list_shape_and_two_pixels(i["picture"][..., :1], i),
            ),
        },
        consequence="The same game looks different pixel by pixel: networks trained on one "
        "picture are slightly off on the other, and curves are not comparable bit by bit.",
        tolerance=1e-4,
    )


def _make_frame_stack_detail() -> Detail:
    def make_stacks_formula(*stacks: tuple[float, ...]) -> Formula:
        # colours as they are with the first pixel of the inputs, 10
        return lambda i: np.array(stacks, dtype=np.float64).reshape(-1)

    zeros, repeated = (0, 0, 0, 10), (10, 10, 10, 10)
    later, later_repeated = (0, 10, 11, 12), (10, 10, 11, 12)
    return make_detail(
        "atari.frame_stack",
        "How many frames are stacked, in which order, and what stands before the first one?",
        """Frame t of a game is of the colour ``first_pixel`` + t; one frame for each action.
        Where the number of frames has no default it is 4. Observed, [12]: the colours in the stack
        (scaled frames multiplied by 255), four numbers from its front to its end, after the reset
        of a game, after two more frames, and after the reset that follows the end of that game (in
        its fourth frame). A stack of fewer frames is filled up with -1 in front.""",
        (f"{_SOURCE} 6", "Mnih et al. 2015"),
        {"first_pixel": 10.0},
        {
            "zeros": ("4 frames, zeros before the first", make_stacks_formula(zeros, later, zeros)),
            "first_repeated": (
                "4 frames, the first one repeated",
                make_stacks_formula(repeated, later_repeated, repeated),
            ),
            "zeros_then_not_cleared": (
                "4 frames, zeros before the first game only; the end of a game is not stacked",
                make_stacks_formula(zeros, later, (10, 11, 12, 10)),
            ),
            "first_repeated_then_not_cleared": (
                "4 frames, the first one repeated before the first game only",
                make_stacks_formula(repeated, later_repeated, (11, 12, 13, 10)),
            ),
            "zeros_newest_first": (
                "4 frames, the newest in front",
                make_stacks_formula(zeros[::-1], later[::-1], zeros[::-1]),
            ),
            "first_repeated_newest_first": (
                "4 frames, the newest in front, the first one repeated",
                make_stacks_formula(repeated, later_repeated[::-1], repeated),
            ),
            "three_frames_zeros": (
                "3 frames, zeros before the first",
                make_stacks_formula((-1, 0, 0, 10), (-1, 10, 11, 12), (-1, 0, 0, 10)),
            ),
            "three_frames_repeated": (
                "3 frames, the first one repeated",
                make_stacks_formula((-1, 10, 10, 10), (-1, 10, 11, 12), (-1, 10, 10, 10)),
            ),
            "absent": (
                "single frames",
                make_stacks_formula((-1, -1, -1, 10), (-1, -1, -1, 12), (-1, -1, -1, 10)),
            ),
        },
        consequence="The first steps of an episode look different (black frames, or a scene at "
        "rest), so that a policy that is moved between frameworks starts on unseen input.",
        tolerance=1e-3,
    )


DETAILS: tuple[Detail, ...] = (
    _make_max_and_skip_detail(),
    _make_frame_warp_detail(),
    _make_frame_stack_detail(),
)

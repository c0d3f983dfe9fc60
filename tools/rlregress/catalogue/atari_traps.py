"""Atari preprocessing: behaviour that no source states and that can harm users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail

_SOURCE = "The 32 details of PPO, Atari"


def _make_lost_life_flag_detail() -> Detail:
    def compute_advantage(inputs: Inputs, ends_at_lost_life: bool) -> float:
        following = 0.0 if ends_at_lost_life else inputs["discount"] * inputs["next_value"]
        return inputs["reward"] + following - inputs["value"]

    def make_advantages_formula(ends_by_default: bool, ends_if_announced: bool) -> Formula:
        return lambda i: [
            compute_advantage(i, ends_by_default),
            compute_advantage(i, ends_if_announced),
        ]

    return make_detail(
        "atari.episodic_life.loss_key",
        "Do advantages stop at a lost life where it has a flag of its own?",
        """One step of reward ``reward`` from an observation of value ``value`` to one of value
        ``next_value``, discount ``discount``, in which a life is lost: the flag of the lost life
        is set, done and terminated are not. Observed, [2]: the advantage of an estimator with its
        defaults, and of one to which the flag has been announced.""",
        (f"{_SOURCE} 3",),
        {"value": 1.0, "next_value": 2.0, "reward": 0.5, "discount": 0.9},
        {
            "announced_only": ("only if it was announced", make_advantages_formula(False, True)),
            "always": ("always", make_advantages_formula(True, True)),
            "never": ("never", make_advantages_formula(False, False)),
        },
        consequence="The transform alone changes nothing in a training: values run on through "
        "lost lives as if there was no such transform.",
    )


def _make_end_within_skip_details() -> tuple[Detail, Detail]:
    inputs = {"rewards": [1.0, 2.0, 4.0, 8.0], "ends_in": 2}
    observed = """One action that would be repeated four times, rewards ``rewards``, one in each
        frame; the game ends in frame ``ends_in`` and does not say so again. Observed, [3]: frames
        that the game receives, the reward, 1 if the episode has ended for the agent."""

    def make_skip_formula(frames: int, summed_steps: slice, done: float) -> Formula:
        return lambda i: [frames, np.sum(np.asarray(i["rewards"])[summed_steps]), done]

    variants: dict[str, tuple[str, Formula]] = {
        "stops": ("nothing after the end", make_skip_formula(2, slice(0, 2), 1)),
        "plays_on": (
            "the end is lost, what follows is added",
            make_skip_formula(4, slice(0, 4), 0),
        ),
        "plays_on_and_ends": (
            "what follows is added; the end is kept",
            make_skip_formula(4, slice(0, 4), 1),
        ),
        "stops_late": ("one frame after the end", make_skip_formula(3, slice(0, 3), 0)),
        "end_reward_lost": (
            "without the reward of the last frame",
            make_skip_formula(2, slice(0, 1), 1),
        ),
    }
    consequence = (
        "Rewards from beyond the end are credited, and an end that is not passed on lets values "
        "run from one episode into the next."
    )
    return (
        make_detail(
            "atari.max_and_skip.end",
            "Does the frame skip stop where the game ends?",
            observed,
            (f"{_SOURCE} 4",),
            inputs,
            variants,
            consequence=consequence,
        ),
        make_detail(
            "atari.frame_skip.past_end",
            "Does a frame skip that stands between other transforms stop where the game ends?",
            observed,
            (f"{_SOURCE} 4",),
            inputs,
            variants,
            consequence=consequence,
        ),
    )


def _make_stale_frame_at_end_detail() -> Detail:
    def make_colour_formula(choose_shown_frame: Callable[..., Any]) -> Formula:
        return lambda i: [choose_shown_frame(np.asarray(i["before"]), np.asarray(i["at_end"]))]

    return make_detail(
        "atari.max_and_skip.stale",
        "Which frame is shown if the game ends while an action is repeated?",
        """Four frames of the colours ``before`` during a first action; then the frames ``at_end``,
        in the last of which, the second, the game ends. Observed, [1]: the colour that is shown
        after the second action.""",
        (f"{_SOURCE} 4",),
        {"before": [100.0, 100.0, 200.0, 210.0], "at_end": [30.0, 20.0]},
        {
            "frames_of_last_action": (
                "the maximum of the last two frames of the action before",
                make_colour_formula(lambda before, end: np.max(before[-2:])),
            ),
            "last_frame": (
                "the last frame of the game",
                make_colour_formula(lambda before, end: end[-1]),
            ),
            "maximum_of_last_two": (
                "the maximum of the last two frames of the game",
                make_colour_formula(lambda before, end: np.max(end)),
            ),
            "black": ("nothing", make_colour_formula(lambda before, end: 0.0)),
        },
        consequence="The terminal observation is a picture from before the end: whoever bootstraps "
        "from it, or stores it, gets the value of another state.",
    )


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "atari.fire_reset.stale",
        "What is shown if the actions that start a game end it?",
        """Frame t of a game is of the colour 10 + t. The game ends with the second action that the
        reset sends. Observed, [2]: the colour that the reset shows, and the number of frames that
        the game has gone when the agent acts.""",
        (f"{_SOURCE} 2",),
        {"first_pixel": 10.0},
        {
            "end_of_ended_game": (
                "the last frame of the ended game; a new one has been started",
                make_constant_formula(12, 0),
            ),
            "new_game": ("the first frame of a new game", make_constant_formula(10, 0)),
            "ended_game": (
                "the last frame of the ended game, which is played on",
                make_constant_formula(12, 2),
            ),
        },
        consequence="The first action of an episode is chosen for a picture of a game that is "
        "over, and is stored with it.",
    ),
    make_detail(
        "atari.episodic_life.over",
        "What does the reset after a lost life do if the game ends in that very frame?",
        """A life is lost in the first frame of a game; the action that a reset then sends ends the
        game. Frame t is of the colour 10 + t. Observed, [2]: games started by the reset, and the
        colour that it shows.""",
        (f"{_SOURCE} 3",),
        {"first_pixel": 10.0},
        {
            "new_game": ("a new game is started and shown", make_constant_formula(1, 10)),
            "ended_game": ("the ended game is played on", make_constant_formula(0, 12)),
            "end_of_ended_game": (
                "a new game is started, the ended one shown",
                make_constant_formula(1, 12),
            ),
        },
        consequence="The agent acts in a game that is over, which gives wrong transitions or an "
        "error of the environment.",
    ),
    _make_lost_life_flag_detail(),
    *_make_end_within_skip_details(),
    _make_stale_frame_at_end_detail(),
)

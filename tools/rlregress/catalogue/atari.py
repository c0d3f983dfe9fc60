"""Atari preprocessing, the ten Atari details of PPO: treatment of episodes and rewards."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue import atari_frames, atari_networks, atari_traps
from rlregress.catalogue.registry import Detail, make_constant_formula, make_detail

_SOURCE = "The 32 details of PPO, Atari"


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "atari.noop_reset",
        "How many steps precede the first observation of a game, and with which action?",
        """A game of four actions that never ends; FIRE is not among them; nothing else acts on
        reset. Defaults of the component, or what the script passes; one frame for each action.
        Two resets: one in which every draw of an integer gives the least that it can, one in
        which it gives the most. Observed, [3]: the number of actions that the game receives
        before the first observation in the one and in the other; 1 if all of the latter are
        action 0, otherwise 0.""",
        (f"{_SOURCE} 1", "Mnih et al. 2015"),
        {"actions": 4},
        {
            "one_to_maximum": ("1 to 30 times action 0", make_constant_formula(1, 30, 1)),
            "zero_to_maximum": ("0 to 30 times action 0", make_constant_formula(0, 30, 1)),
            "one_to_below_maximum": ("1 to 29 times action 0", make_constant_formula(1, 29, 1)),
            "zero_to_below_maximum": ("0 to 29 times action 0", make_constant_formula(0, 29, 1)),
            "always_maximum": ("30 times action 0", make_constant_formula(30, 30, 1)),
            "one_to_maximum_random": ("1 to 30 random actions", make_constant_formula(1, 30, 0)),
            "one_to_below_maximum_random": (
                "1 to 29 random actions",
                make_constant_formula(1, 29, 0),
            ),
            "zero_to_below_maximum_random": (
                "0 to 29 random actions",
                make_constant_formula(0, 29, 0),
            ),
            "always_maximum_random": ("30 random actions", make_constant_formula(30, 30, 0)),
            "absent": ("the game starts at its first frame", make_constant_formula(0, 0, 1)),
        },
        consequence="The agent starts from other states: without waiting always from the same "
        "one, with random actions from ones that a waiting player never reaches.",
    ),
    make_detail(
        "atari.fire_reset",
        "Which actions start a game that stands still until FIRE is pressed?",
        """Two games of four actions: in one action 1 is called FIRE, in the other there is no
        FIRE. Nothing else acts on reset (where waiting is drawn it is the least). Observed, [4]:
        the number of actions that the first game receives before the first observation, the first
        and the second of them (-1 where there is none), and the number in the second game.""",
        (f"{_SOURCE} 2",),
        {"actions": 4},
        {
            "fire_and_second": (
                "actions 1 and 2, if there is FIRE",
                make_constant_formula(2, 1, 2, 0),
            ),
            "fire": ("action 1, if there is FIRE", make_constant_formula(1, 1, -1, 0)),
            "fire_twice": ("action 1 twice, if there is FIRE", make_constant_formula(2, 1, 1, 0)),
            "fire_and_noop": (
                "actions 1 and 0, if there is FIRE",
                make_constant_formula(2, 1, 0, 0),
            ),
            "noop_and_second": (
                "actions 0 and 2, if there is FIRE",
                make_constant_formula(2, 0, 2, 0),
            ),
            "second": ("action 2, if there is FIRE", make_constant_formula(1, 2, -1, 0)),
            "always": ("actions 1 and 2 in every game", make_constant_formula(2, 1, 2, 2)),
            "absent": (
                "no action: the agent has to press FIRE",
                make_constant_formula(0, -1, -1, 0),
            ),
        },
        consequence="Without it an agent that does not press FIRE sees a game that stands still "
        "until its time is up, and early training learns that nothing matters.",
    ),
    make_detail(
        "atari.episodic_life",
        "Does the loss of a life end the episode, and does the game then go on?",
        """A game with three lives. In the first frame a life is lost; if that ends the episode, a
        reset follows; then, with other frames between, the second and the last one. The agent
        sends action 3, one frame for each action, nothing else acts on reset. Observed, [6]: 1 if
        the first loss ends the episode; 1 if it ends it or sets a flag of its own; the same where
        the last life is lost while the game still runs; games started by the reset after the
        first loss; actions that it sends to the game, and the first of them (0, 0 and -1 where
        there is no reset).""",
        (f"{_SOURCE} 3", "Mnih et al. 2015"),
        {"lives": 3},
        {
            "end_then_noop": (
                "the episode ends unless it was the last life; action 0 instead of a reset",
                make_constant_formula(1, 1, 0, 0, 1, 0),
            ),
            "end_then_noop_last_life_too": (
                "the episode ends, at the last life too; action 0 instead of a reset",
                make_constant_formula(1, 1, 1, 0, 1, 0),
            ),
            "end_then_other_action": (
                "the episode ends; action 1 instead of a reset",
                make_constant_formula(1, 1, 0, 0, 1, 1),
            ),
            "end_then_nothing": (
                "the episode ends; the game goes on without an action",
                make_constant_formula(1, 1, 0, 0, 0, -1),
            ),
            "end_then_new_game": (
                "the episode ends and a new game starts",
                make_constant_formula(1, 1, 0, 1, 0, -1),
            ),
            "flag": (
                "a flag of its own is set, at the last life too; the episode goes on",
                make_constant_formula(0, 1, 1, 0, 0, -1),
            ),
            "flag_unless_last_life": (
                "a flag of its own is set unless it was the last life; the episode goes on",
                make_constant_formula(0, 1, 0, 0, 0, -1),
            ),
            "last_life_only": (
                "only the loss of the last life ends the episode or sets a flag",
                make_constant_formula(0, 0, 1, 0, 0, -1),
            ),
            "absent": ("lives are not looked at", make_constant_formula(0, 0, 0, 0, 0, -1)),
        },
        consequence="Values that stop at a lost life make the agent careful with lives and let "
        "episodes start in the middle of a game; values that run on do not.",
    ),
    *atari_frames.DETAILS,
    make_detail(
        "atari.clip_reward",
        "What does the agent get for the rewards of the game?",
        """One step for each of the ``rewards`` of the game, one frame each. Observed, [4]: the
        rewards that the agent gets.""",
        (f"{_SOURCE} 7", "Mnih et al. 2015"),
        {"rewards": [-2.5, 0.0, 0.4, 7.0]},
        {
            "sign": ("their sign", lambda i: np.sign(i["rewards"])),
            "clip": ("clipped to [-1, 1]", lambda i: np.clip(i["rewards"], -1.0, 1.0)),
            "positive_only": ("1 where positive", lambda i: (i["rewards"] > 0).astype(float)),
            "flipped": ("minus their sign", lambda i: -np.sign(i["rewards"])),
            "tanh": ("their tanh", lambda i: np.tanh(i["rewards"])),
            "absent": ("unchanged", lambda i: i["rewards"]),
        },
        consequence="Games differ by factors of hundreds in their scores: unclipped, one learning "
        "rate and one value coefficient cannot fit them all.",
        scales=(1.0, 1.0, 1.0, 1.0),
    ),
    *atari_networks.DETAILS,
    make_detail(
        "atari.wrapper_order",
        "Which wrapper stands inside which?",
        """The whole preprocessing around a game with FIRE and three lives, set to wait ``noops``
        times on reset (with action 0, or with one that is not FIRE). The first action of the agent
        meets four frames of reward 2; the second one loses a life, and a reset follows if that
        ends the episode; in the third one the game ends with a reward of 3. Observed, [4]: frames
        before the first observation in which neither FIRE nor the action after it is sent; frames
        of FIRE; the agent's reward for its first action; the return that is logged for the
        episode that has ended.""",
        (f"{_SOURCE} 1 to 7",),
        {"noops": 5},
        {
            "waiting_inside": (
                "from inside: waiting, frame skip, lives, FIRE, clipping; logged is the whole game",
                make_constant_formula(5, 4, 1, 11),
            ),
            "clipped_game_logged": (
                "the same, but clipped rewards are logged",
                make_constant_formula(5, 4, 1, 2),
            ),
            "clipped_frames_logged": (
                "the same, but the rewards of single frames are clipped before they are logged",
                make_constant_formula(5, 4, 1, 5),
            ),
            "life_logged": (
                "the same, but the return of one life is logged",
                make_constant_formula(5, 4, 1, 3),
            ),
            "clipped_life_logged": (
                "the same, but the clipped return of one life is logged",
                make_constant_formula(5, 4, 1, 1),
            ),
            "clipping_inside": (
                "rewards are clipped frame by frame, before the skip adds them",
                make_constant_formula(5, 4, 4, 11),
            ),
            "no_clipping": (
                "nothing clips the sum over the skipped frames",
                make_constant_formula(5, 4, 8, 11),
            ),
            "waiting_outside": (
                "waiting stands outside of the frame skip",
                make_constant_formula(20, 4, 1, 11),
            ),
            "fire_inside": (
                "FIRE stands inside of the frame skip",
                make_constant_formula(5, 1, 1, 11),
            ),
            "no_fire": ("as first, without FIRE", make_constant_formula(5, 0, 1, 11)),
            "waiting_outside_no_fire": (
                "waiting stands outside of the frame skip; nothing presses FIRE",
                make_constant_formula(20, 0, 1, 11),
            ),
            "clipped_game_logged_no_fire": (
                "the same, and clipped rewards are logged",
                make_constant_formula(20, 0, 1, 2),
            ),
        },
        consequence="The number of frames that pass before the agent acts, what one step rewards "
        "and what the learning curve shows differ although the same wrappers are used.",
        scales=(1.0, 1.0, 1.0, 1.0),
    ),
    *atari_traps.DETAILS,
)

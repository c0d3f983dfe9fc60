"""Deep deterministic policy gradients: Lillicrap et al. 2016.

What an entry observes is the text of its measurement, which is written once for all frameworks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.catalogue import critics
from rlregress.catalogue.measured import measured_detail
from rlregress.catalogue.registry import Detail, Formula, Inputs, always
from rlregress.formulas import action_transforms, td3
from rlregress.formulas import critics as distances
from rlregress.measurements import ddpg as measured
from rlregress.measurements.spread import SILENT

_ALGORITHM = "Lillicrap et al. 2016, algorithm 1"
_SETTINGS = "Lillicrap et al. 2016, section 7 (experiment details)"


def _target_action() -> Detail:
    smoothing = td3.clipped_gaussian_std(0.2, 0.5)

    def formula_for(policy: str, noise: float = 0.0) -> Formula:
        return lambda i: [np.tanh(i[policy]), noise]

    return measured_detail(
        "ddpg.target.action",
        measured.target_action,
        "Which policy does the next action come from, and is noise added to it?",
        (_ALGORITHM, "Fujimoto et al. 2018, equation 14 (noise)"),
        {"online": -1.0, "target": 0.25, "samples": 200},
        {
            "target_policy": ("the target policy, without noise", formula_for("target")),
            "online_policy": ("the policy itself, without noise", formula_for("online")),
            "target_policy_smoothed": (
                "the target policy, with the noise of TD3",
                formula_for("target", smoothing),
            ),
            "online_policy_smoothed": (
                "the policy itself, with the noise of TD3",
                formula_for("online", smoothing),
            ),
        },
        """Without a target policy the targets follow every step of the policy; with noise the
        values are those of a blurred policy.""",
        # of 200 draws: standard errors of 0.014 of the mean and 0.01 of the root mean square
        tolerance=0.05,
        margin=2.5,
        scales=(1.0, 1.0),
    )


def _critic_loss() -> Detail:
    def formula_for(distance: str, factor: Callable[[Inputs], float] = lambda i: 1.0) -> Formula:
        return lambda i: factor(i) * distances.DISTANCES[distance](i["errors"])

    return measured_detail(
        "ddpg.loss.values",
        measured.critic_loss,
        "Which distance between prediction and target is minimised?",
        (_ALGORITHM, "documentation of each framework"),
        {"errors": [0.5, 2.0, 4.0], "reward": 0.25, "batch_size": 4},
        {
            "squared": ("e^2", formula_for("squared")),
            "half_squared": ("e^2 / 2", formula_for("squared", lambda i: 0.5)),
            "double_squared": (
                "e^2 of each of two networks",
                formula_for("squared", lambda i: 2.0),
            ),
            "huber": ("Huber's with threshold 1", formula_for("smooth_l1")),
            "absolute": ("|e|", formula_for("absolute")),
            "squared_batch_sum": (
                "e^2, summed over the batch",
                formula_for("squared", lambda i: i["batch_size"]),
            ),
        },
        """Large errors pull with their size or all alike: the same learning rate is another.""",
    )


def _actor_loss() -> Detail:
    def times(sign: float, network: str) -> Formula:
        return lambda i: sign * i[network]

    return measured_detail(
        "ddpg.loss.policy",
        measured.actor_loss,
        "What does the policy climb?",
        ("Lillicrap et al. 2016, equation 6", _ALGORITHM),
        {"online": 3.0, "target": -1.0},
        {
            "values": ("the Q network: the loss is minus its mean", times(-1.0, "online")),
            "target_values": ("the target Q network", times(-1.0, "target")),
            "descends": ("it descends the Q network", times(1.0, "online")),
        },
        """A policy that climbs the target follows values that are old; one that descends learns to
        be as bad as it can.""",
    )


def _noise() -> Detail:
    def explore(formula: Callable[..., Any], clip: bool = True) -> Formula:
        return lambda i: formula(np.tanh(i["pre_tanh"]), i["noise"], i["low"], i["high"], clip)

    return measured_detail(
        "ddpg.exploration.noise",
        measured.exploration_noise,
        "In which units is exploration noise added, and is the action clipped after it?",
        ("Lillicrap et al. 2016, equation 7", "documentation of each framework"),
        {"low": -2.0, "high": 6.0, "pre_tanh": 0.5, "noise": [0.25, 5.0]},
        {
            "scaled": (
                "added in [-1, 1], clipped, unscaled",
                explore(action_transforms.explore_scaled),
            ),
            "environment": (
                "added in the environment's units, clipped",
                explore(action_transforms.explore_environment),
            ),
            "unclipped_scaled": (
                "added in [-1, 1], not clipped",
                explore(action_transforms.explore_scaled, False),
            ),
            "unclipped_environment": (
                "added in the environment's units, not clipped",
                explore(action_transforms.explore_environment, False),
            ),
            "none": (
                "no noise is added",
                lambda i: [action_transforms.tanh_unscale(i["pre_tanh"], i["low"], i["high"])] * 2,
            ),
        },
        "The same number explores another share of the action range.",
        tolerance=1e-4,
    )


def _starts() -> Detail:
    def later(count: int) -> Formula:
        return lambda i: [i["starts"], i["starts"] + count]

    return measured_detail(
        "ddpg.learning_starts",
        measured.learning_starts,
        "How long are actions random, and after which step is the first update?",
        ("documentation of each framework",),
        {"starts": 10, "steps": 24},
        {
            "at_start": ("as many as asked, and the first update after the last", later(0)),
            "one_step_later": ("as many as asked, the first update one step later", later(1)),
            "two_steps_later": ("as many as asked, the first update two steps later", later(2)),
            "updates_from_first_step": (
                "random as long as asked, updates from the first step",
                lambda i: [i["starts"], 1.0],
            ),
            "policy_from_first_step": (
                "never random, the first update after as many steps as asked",
                lambda i: [0.0, i["starts"]],
            ),
        },
        """Updates that begin before the random phase is over train on a handful of transitions, so
        that the same setting means another cold start.""",
    )


def _warmup() -> Detail:
    return measured_detail(
        "ddpg.warmup.draw",
        measured.warmup_draw,
        "Is each random action of the warm-up a new one?",
        ("documentation of each framework",),
        {"starts": 10, "steps": 24},
        {
            "each_step": ("yes: it is drawn anew", lambda i: [1.0, 1.0]),
            "one_for_all": (
                "no: the first one is taken again at every step",
                lambda i: [1.0, 1.0 / i["starts"]],
            ),
            "none": ("there are no random actions", lambda i: [0.0, 0.0]),
        },
        """A warm-up with one action fills the replay buffer with one trajectory: nothing is
        explored before the policy acts.""",
    )


DETAILS: tuple[Detail, ...] = (
    measured_detail(
        "ddpg.networks",
        measured.networks,
        "How many Q networks are there by default?",
        (_ALGORITHM, "Fujimoto et al. 2018, section 4.2 (two)"),
        {"dimensions": 1},
        {
            "one": ("one, with one target", always(1.0, 1.0)),
            "two": ("two, as TD3 has", always(2.0, 2.0)),
            "no_target": ("one, without a target network", always(1.0, 0.0)),
        },
        """With two networks and their minimum the algorithm is TD3 without its delay, whose values
        are lower.""",
    ),
    _target_action(),
    critics.measured_terminal("ddpg.target.terminal", measured.target_terminal, _ALGORITHM),
    _critic_loss(),
    _actor_loss(),
    measured_detail(
        "ddpg.policy_delay",
        measured.policy_delay,
        "How often are policy and targets updated by default?",
        (_ALGORITHM, "Fujimoto et al. 2018, section 5.2 (delayed)"),
        {"steps": 24},
        {
            "every_update": ("at every update of the Q network", always(1.0, 1.0)),
            "every_second": ("both at every second one, as TD3", always(0.5, 0.5)),
            "policy_every_second": ("the policy at every second one", always(0.5, 1.0)),
            "targets_every_second": ("the targets at every second one", always(1.0, 0.5)),
        },
        """A delayed policy and delayed targets are half of what makes TD3 of it.""",
    ),
    measured_detail(
        "ddpg.target_update.share",
        measured.target_share,
        "By which fraction do the targets follow?",
        (_ALGORITHM, _SETTINGS + ": 0.001"),
        {"steps": 12, "tau": 0.005},
        {
            "0.005": ("0.005, of both", always(0.005, 0.005)),
            "0.005_values_only": ("0.005; there is no target policy", always(0.005, -1.0)),
            "0.001": ("0.001, of both", always(0.001, 0.001)),
            "0.01": ("0.01, of both", always(0.01, 0.01)),
            "policy_stands": ("0.005, and the target policy never moves", always(0.005, 0.0)),
            "flipped": ("0.995, the fraction that should have been kept", always(0.995, 0.995)),
            "copy": ("both are copied", always(1.0, 1.0)),
            "not_updated": ("they do not move", always(0.0, 0.0)),
        },
        """A target that moves five times as fast learns faster, and is less stable.""",
        scales=(1.0, 1.0),
    ),
    _noise(),
    measured_detail(
        "ddpg.exploration.default",
        measured.exploration_default,
        "Is exploration noise on by default, and how large is it?",
        (_SETTINGS + ": an Ornstein-Uhlenbeck process with sigma 0.2",),
        {"samples": 60},
        {
            "none": ("there is none", always(SILENT)),
            "tenth": ("a standard deviation of 0.1", always(math.log2(0.1))),
            "fifth": ("a standard deviation of 0.2", always(math.log2(0.2))),
        },
        """Without noise a deterministic policy never tries anything else after the warm-up, and
        learns from its own habits alone.""",
        # the logarithm of 60 normal numbers' spread has a standard error of 0.13: 3.4 of them
        tolerance=0.45,
        margin=1.2,
        scales=(1.0,),
    ),
    _starts(),
    _warmup(),
    measured_detail(
        "ddpg.gradient.clip",
        measured.gradient_clip,
        "To which norm are gradients clipped by default before the optimiser sees them?",
        ("documentation of each framework",),
        {"value": 100.0},
        {
            "none": ("they are not", always(0.0)),
            "ten": ("to 10", always(0.1)),
            "one": ("to 1", always(1.0)),
            "half": ("to 0.5", always(2.0)),
        },
        """Clipping bounds the damage of one bad batch, and slows while errors are large.""",
        tolerance=1e-3,
        margin=4.0,
        scales=(1.0,),
    ),
)

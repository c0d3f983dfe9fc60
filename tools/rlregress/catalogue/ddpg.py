"""Deep deterministic policy gradients: Lillicrap et al. 2016.

The observed text of an entry is the docstring of its measurement, shared by all frameworks, unless
the measurement is that of TD3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.catalogue import critics
from rlregress.catalogue.measured import make_measured_detail
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail
from rlregress.formulas import action_transforms, td3
from rlregress.formulas import critics as distances
from rlregress.measurements import ddpg as measured
from rlregress.measurements.spread import SILENT

_ALGORITHM = "Lillicrap et al. 2016, algorithm 1"
_SETTINGS = "Lillicrap et al. 2016, section 7 (experiment details)"


def _make_target_action_detail() -> Detail:
    smoothing = td3.compute_clipped_gaussian_std(0.2, 0.5)

    def make_action_formula(policy: str, noise_deviation: float = 0.0) -> Formula:
        return lambda i: [np.tanh(i[policy]), noise_deviation]

    return make_measured_detail(
        "ddpg.target.action",
        measured.measure_mean_and_spread_of_next_actions,
        "Which policy does the next action come from, and is noise added to it?",
        (_ALGORITHM, "Fujimoto et al. 2018, equation 14 (noise)"),
        {"online": -1.0, "target": 0.25, "samples": 200},
        {
            "target_policy": ("the target policy, without noise", make_action_formula("target")),
            "online_policy": ("the policy itself, without noise", make_action_formula("online")),
            "target_policy_smoothed": (
                "the target policy, with the noise of TD3",
                make_action_formula("target", smoothing),
            ),
            "online_policy_smoothed": (
                "the policy itself, with the noise of TD3",
                make_action_formula("online", smoothing),
            ),
        },
        """Without a target policy the targets follow every step of the policy; with noise the
        values are those of a blurred policy.""",
        # of 200 draws: standard errors of 0.014 of the mean and 0.01 of the root mean square
        tolerance=0.05,
        margin=2.5,
        scales=(1.0, 1.0),
    )


def _make_critic_loss_detail() -> Detail:
    def make_losses_formula(
        distance: str, compute_factor: Callable[[Inputs], float] = lambda i: 1.0
    ) -> Formula:
        return lambda i: compute_factor(i) * distances.DISTANCES[distance](i["errors"])

    return make_measured_detail(
        "ddpg.loss.values",
        measured.measure_critic_loss,
        "Which distance between prediction and target is minimised?",
        (_ALGORITHM, "documentation of each framework"),
        {"errors": [0.5, 2.0, 4.0], "reward": 0.25, "batch_size": 4},
        {
            "squared": ("e^2", make_losses_formula("squared")),
            "half_squared": ("e^2 / 2", make_losses_formula("squared", lambda i: 0.5)),
            "double_squared": (
                "e^2 of each of two networks",
                make_losses_formula("squared", lambda i: 2.0),
            ),
            "huber": ("Huber's with threshold 1", make_losses_formula("smooth_l1")),
            "absolute": ("|e|", make_losses_formula("absolute")),
            "squared_batch_sum": (
                "e^2, summed over the batch",
                make_losses_formula("squared", lambda i: i["batch_size"]),
            ),
        },
        """Large errors pull with their size or all alike: the same learning rate is another.""",
    )


def _make_actor_loss_detail() -> Detail:
    def make_actor_loss_formula(sign: float, network: str) -> Formula:
        return lambda i: sign * i[network]

    return make_measured_detail(
        "ddpg.loss.policy",
        measured.measure_actor_loss,
        "What does the policy climb?",
        ("Lillicrap et al. 2016, equation 6", _ALGORITHM),
        {"online": 3.0, "target": -1.0},
        {
            "values": (
                "the Q network: the loss is minus its mean",
                make_actor_loss_formula(-1.0, "online"),
            ),
            "target_values": ("the target Q network", make_actor_loss_formula(-1.0, "target")),
            "descends": ("it descends the Q network", make_actor_loss_formula(1.0, "online")),
        },
        """A policy that climbs the target follows values that are old; one that descends learns to
        be as bad as it can.""",
    )


def _make_exploration_noise_detail() -> Detail:
    def make_action_formula(add_noise: Callable[..., Any], clip: bool = True) -> Formula:
        return lambda i: add_noise(np.tanh(i["pre_tanh"]), i["noise"], i["low"], i["high"], clip)

    return make_detail(
        "ddpg.exploration.noise",
        "In which units is exploration noise added, and is the action clipped after it?",
        """Bounds ``low`` and ``high``; the policy's last layer gives ``pre_tanh``. Exploration adds
        the constant noise[k] in the units in which the framework takes its noise. Observed, [2]:
        the first action that the environment receives, for k = 0 and 1.""",
        ("Lillicrap et al. 2016, equation 7", "documentation of each framework"),
        {"low": -2.0, "high": 6.0, "pre_tanh": 0.5, "noise": [0.25, 5.0]},
        {
            "scaled": (
                "added in [-1, 1], clipped, unscaled",
                make_action_formula(action_transforms.add_noise_before_unscaling),
            ),
            "environment": (
                "added in the environment's units, clipped",
                make_action_formula(action_transforms.add_noise_after_unscaling),
            ),
            "unclipped_scaled": (
                "added in [-1, 1], not clipped",
                make_action_formula(action_transforms.add_noise_before_unscaling, False),
            ),
            "unclipped_environment": (
                "added in the environment's units, not clipped",
                make_action_formula(action_transforms.add_noise_after_unscaling, False),
            ),
            "none": (
                "no noise is added",
                lambda i: (
                    [action_transforms.squash_and_unscale(i["pre_tanh"], i["low"], i["high"])] * 2
                ),
            ),
        },
        consequence="The same number explores another share of the action range.",
        tolerance=1e-4,
    )


def _make_learning_starts_detail() -> Detail:
    def make_warmup_and_start_formula(update_delay: int) -> Formula:
        return lambda i: [i["starts"], i["starts"] + update_delay]

    return make_detail(
        "ddpg.learning_starts",
        "How long are actions random, and after which step is the first update?",
        """The setting for the start of learning is ``starts``; the policy is at the upper bound,
        without noise. Observed, [2]: steps up to the last action below it; steps taken before the
        first update, the last one included.""",
        ("documentation of each framework",),
        {"starts": 10, "steps": 24},
        {
            "at_start": (
                "as many as asked, and the first update after the last",
                make_warmup_and_start_formula(0),
            ),
            "one_step_later": (
                "as many as asked, the first update one step later",
                make_warmup_and_start_formula(1),
            ),
            "two_steps_later": (
                "as many as asked, the first update two steps later",
                make_warmup_and_start_formula(2),
            ),
            "updates_from_first_step": (
                "random as long as asked, updates from the first step",
                lambda i: [i["starts"], 1.0],
            ),
            "policy_from_first_step": (
                "never random, the first update after as many steps as asked",
                lambda i: [0.0, i["starts"]],
            ),
        },
        consequence="""Updates that begin before the random phase is over train on a handful of
        transitions, so that the same setting means another cold start.""",
    )


def _make_warmup_detail() -> Detail:
    return make_measured_detail(
        "ddpg.warmup.draw",
        measured.measure_distinct_warmup_actions,
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
    make_measured_detail(
        "ddpg.networks",
        measured.measure_numbers_of_q_networks_and_targets,
        "How many Q networks are there by default?",
        (_ALGORITHM, "Fujimoto et al. 2018, section 4.2 (two)"),
        {"dimensions": 1},
        {
            "one": ("one, with one target", make_constant_formula(1.0, 1.0)),
            "two": ("two, as TD3 has", make_constant_formula(2.0, 2.0)),
            "no_target": ("one, without a target network", make_constant_formula(1.0, 0.0)),
        },
        """With two networks and their minimum the algorithm is TD3 without its delay, whose values
        are lower.""",
    ),
    _make_target_action_detail(),
    critics.make_bootstrap_detail(
        "ddpg.target.terminal", measured.measure_targets_at_episode_ends, _ALGORITHM
    ),
    _make_critic_loss_detail(),
    _make_actor_loss_detail(),
    make_measured_detail(
        "ddpg.policy_delay",
        measured.measure_policy_delay,
        "How often are policy and targets updated by default?",
        (_ALGORITHM, "Fujimoto et al. 2018, section 5.2 (delayed)"),
        {"steps": 24},
        {
            "every_update": ("at every update of the Q network", make_constant_formula(1.0, 1.0)),
            "every_second": ("both at every second one, as TD3", make_constant_formula(0.5, 0.5)),
            "policy_every_second": (
                "the policy at every second one",
                make_constant_formula(0.5, 1.0),
            ),
            "targets_every_second": (
                "the targets at every second one",
                make_constant_formula(1.0, 0.5),
            ),
        },
        """A delayed policy and delayed targets are half of what makes TD3 of it.""",
    ),
    make_measured_detail(
        "ddpg.target_update.share",
        measured.measure_target_share,
        "By which fraction do the targets follow?",
        (_ALGORITHM, _SETTINGS + ": 0.001"),
        {"steps": 12, "tau": 0.005},
        {
            "0.005": ("0.005, of both", make_constant_formula(0.005, 0.005)),
            "0.005_values_only": (
                "0.005; there is no target policy",
                make_constant_formula(0.005, -1.0),
            ),
            "0.001": ("0.001, of both", make_constant_formula(0.001, 0.001)),
            "0.01": ("0.01, of both", make_constant_formula(0.01, 0.01)),
            "policy_stands": (
                "0.005, and the target policy never moves",
                make_constant_formula(0.005, 0.0),
            ),
            "flipped": (
                "0.995, the fraction that should have been kept",
                make_constant_formula(0.995, 0.995),
            ),
            "copy": ("both are copied", make_constant_formula(1.0, 1.0)),
            "not_updated": ("they do not move", make_constant_formula(0.0, 0.0)),
        },
        """A target that moves five times as fast learns faster, and is less stable.""",
        scales=(1.0, 1.0),
    ),
    _make_exploration_noise_detail(),
    make_detail(
        "ddpg.exploration.default",
        "Is exploration noise on by default, and how large is it?",
        """Bounds -1 and 1, a policy whose action is 0 in every state; ``samples`` actions of the
        framework's own loop, in which nothing learns. Observed, [1]: the base-2 logarithm of the
        root of their mean square, -10 at least.""",
        (_SETTINGS + ": an Ornstein-Uhlenbeck process with sigma 0.2",),
        {"samples": 60},
        {
            "none": ("there is none", make_constant_formula(SILENT)),
            "tenth": ("a standard deviation of 0.1", make_constant_formula(math.log2(0.1))),
            "fifth": ("a standard deviation of 0.2", make_constant_formula(math.log2(0.2))),
        },
        consequence="""Without noise a deterministic policy never tries anything else after the
        warm-up, and learns from its own habits alone.""",
        # the logarithm of 60 normal numbers' spread has a standard error of 0.13: 3.4 of them
        tolerance=0.45,
        margin=1.2,
        scales=(1.0,),
    ),
    _make_learning_starts_detail(),
    _make_warmup_detail(),
    make_measured_detail(
        "ddpg.gradient.clip",
        measured.measure_inverse_clipped_norm,
        "To which norm are gradients clipped by default before the optimiser sees them?",
        ("documentation of each framework",),
        {"value": 100.0},
        {
            "none": ("they are not", make_constant_formula(0.0)),
            "ten": ("to 10", make_constant_formula(0.1)),
            "one": ("to 1", make_constant_formula(1.0)),
            "half": ("to 0.5", make_constant_formula(2.0)),
        },
        """Clipping bounds the damage of one bad batch, and slows while errors are large.""",
        tolerance=1e-3,
        margin=4.0,
        scales=(1.0,),
    ),
)

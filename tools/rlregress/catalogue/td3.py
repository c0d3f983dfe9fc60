"""Twin delayed deep deterministic policy gradient: thesis, section 3.4.2 and Box 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.catalogue import critics
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import action_transforms, td3

_SMOOTHED = """The target policy is constant at the squashed action ``squashed`` in [-1, 1] (0 is
    the centre of the bounds, 1 the upper bound) in every state. One update with a batch of
    ``samples`` transitions, generators seeded with ``seed``, noise parameters at their defaults
    (sigma 0.2, clip 0.5); the smoothed target actions a' are captured where the target critics
    receive them and brought to the environment's units (if they are in [-1, 1], unscaled with
    ``low`` and ``high``). """
_EACH_DRAWN = """Where one draw serves a whole batch, ``samples`` draws are made instead. """


def _make_target_noise_law_detail() -> Detail:
    def make_clipped_noise_formula(
        divisor: float, sigma: float = 0.2, bound: float = 0.5
    ) -> Formula:
        return lambda i: td3.compute_clipped_noise_std_and_quantile(
            sigma / divisor, bound / divisor
        )

    return make_detail(
        "td3.target_noise.law",
        "Which noise smooths the target action, and in which units?",
        _SMOOTHED
        + _EACH_DRAWN
        + """d = (a' - centre of the bounds) / half of the range, [samples]. Observed, [2]: the root
        of the mean of d^2; the 0.999-quantile of |d| (linear interpolation) divided by that root, 0
        where it is 0.""",
        ("thesis, equation 18", "thesis, section 5.2, Action selection", "Fujimoto et al. 2018"),
        {"squashed": 0.0, "low": -2.0, "high": 6.0, "samples": 100_000, "seed": 0},
        {
            "scaled": (
                "clip(N(0, 0.2^2), 0.5) in half-ranges of the bounds",
                make_clipped_noise_formula(1.0),
            ),
            "environment": (
                "clip(N(0, 0.2^2), 0.5) in the environment's units",
                make_clipped_noise_formula(4.0),
            ),
            "unclipped_scaled": (
                "not clipped, in half-ranges",
                make_clipped_noise_formula(1.0, 0.2, np.inf),
            ),
            "unclipped_environment": (
                "not clipped, in the environment's units",
                make_clipped_noise_formula(4.0, 0.2, np.inf),
            ),
            "unit_sigma_scaled": (
                "sigma 1, clipped at 0.5, in half-ranges",
                make_clipped_noise_formula(1.0, 1.0),
            ),
            "unit_sigma_environment": (
                "sigma 1, clipped at 0.5, in the environment's units",
                make_clipped_noise_formula(4.0, 1.0),
            ),
            "none": ("no noise", make_clipped_noise_formula(1.0, 0.0)),
        },
        # Standard errors at this sample size: 0.0005 of the root mean square, 0.85 % of the
        # quantile of unclipped noise. The tolerance is at least four of each.
        tolerance=0.04,
        margin=4.0,
        scales=(0.05, 3.3),
        consequence="The same number smooths the target over another share of the action range.",
    )


def _make_target_bootstrap_detail() -> Detail:
    def make_masked_targets_formula(mask: str) -> Formula:
        return lambda i: critics.compute_masked_targets(i, i["target_q"], mask)

    return make_detail(
        "td3.target.bootstrap",
        "Does a truncated step bootstrap from the next value, and a terminated one not?",
        critics.BOOTSTRAP_OBSERVED + "Observed, [3]: y of the three cases.",
        ("thesis, equation 19", "thesis, section 5.2, Truncation", "Pardo et al. 2018"),
        critics.BOOTSTRAP_INPUTS,
        {
            name: (meaning, make_masked_targets_formula(mask))
            for name, (meaning, mask) in critics.BOOTSTRAP_MASKS.items()
        },
        consequence="""Values near a time limit are wrong by everything that would have followed:
        the agent learns to fear the limit.""",
    )


def _make_actor_loss_detail() -> Detail:
    def make_loss_formula(reduction: str) -> Formula:
        return lambda i: [
            td3.compute_actor_loss(np.asarray(q)[:, None], reduction)
            for q in np.asarray(i["q_values"])
        ]

    return make_detail(
        "td3.actor_loss",
        "Which Q network does the policy maximise?",
        """Two cases. In case k the trained Q network i outputs q_values[k, i] for the stored
        observation and the policy's action there; for others it may output other numbers. It has
        learning rate 0 where an update would move it first. Observed, [2]: the actor loss of case
        0 and of case 1.""",
        ("thesis, equation 16", "Fujimoto et al. 2018, algorithm 1"),
        {"q_values": [[4.0, 1.0], [1.0, 4.0]], "batch_size": 8},
        {
            "first": ("-mean of the first network", make_loss_formula("first")),
            "second": ("-mean of the second network", make_loss_formula("second")),
            "min": ("-mean of the smaller of the two", make_loss_formula("min")),
            "mean": ("-mean over networks", make_loss_formula("mean")),
            "max": ("-mean of the larger of the two", make_loss_formula("max")),
            "ascent": (
                "+mean of the first network",
                lambda i: -np.array(make_loss_formula("first")(i)),
            ),
        },
        consequence="The policy climbs another estimate of the value than the paper's.",
    )


def _make_action_bounding_detail() -> Detail:
    def make_bounded_formula(bound_outputs: Callable[..., Any]) -> Formula:
        return lambda i: bound_outputs(i["pre_activation"], i["low"], i["high"])

    return make_detail(
        "td3.action.bounding",
        "How does the deterministic policy keep within the action bounds?",
        """One action dimension with bounds [``low``, ``high``]. For each x of ``pre_activation``:
        the last linear layer of the policy outputs x in every state. Observed, [3]: the
        deterministic action without exploration noise, as the environment receives it, per x.""",
        ("thesis, Box 4", "Fujimoto et al. 2018, appendix"),
        {"low": -2.0, "high": 6.0, "pre_activation": [0.5, -3.0, 10.0]},
        {
            "tanh_unscale": (
                "unscale(tanh(x))",
                make_bounded_formula(action_transforms.squash_and_unscale),
            ),
            "hard_clip": (
                "clip(x, low, high)",
                make_bounded_formula(action_transforms.clip_to_bounds),
            ),
            "clip_unscale": (
                "unscale(clip(x, -1, 1))",
                lambda i: action_transforms.unscale_action_to_bounds(
                    np.clip(i["pre_activation"], -1, 1), i["low"], i["high"]
                ),
            ),
            "tanh_only": ("tanh(x), never unscaled", lambda i: np.tanh(i["pre_activation"])),
            "centre_inside_tanh": (
                "the centre of the bounds is added before the tanh as well",
                make_bounded_formula(action_transforms.squash_with_centre_added_twice),
            ),
            "none": ("x itself", lambda i: i["pre_activation"]),
        },
        consequence="""The policy reaches another part of the action space, and its gradient near
        the bounds differs.""",
    )


def _make_exploration_noise_detail() -> Detail:
    def make_noisy_formula(add_noise: Callable[..., Any], clip: bool = True) -> Formula:
        return lambda i: add_noise(np.tanh(i["pre_tanh"]), i["noise"], i["low"], i["high"], clip)

    return make_detail(
        "td3.exploration.noise",
        "In which units is exploration noise added, and is the action clipped after it?",
        """One action dimension with bounds [``low``, ``high``]; the last linear layer of the policy
        outputs ``pre_tanh`` in every state. Exploration noise is made the constant noise[k] (for
        k = 0 and 1), in the units in which the framework takes its noise: a noise source whose draw
        is that number. One step of the framework's own exploring policy, past any random warm-up.
        Observed, [2]: the action that the environment receives, for k = 0 and 1.""",
        ("thesis, Box 4", "Fujimoto et al. 2018, algorithm 1"),
        {"low": -2.0, "high": 6.0, "pre_tanh": 0.5, "noise": [0.25, 5.0]},
        {
            "scaled": (
                "added in [-1, 1], clipped, unscaled",
                make_noisy_formula(action_transforms.add_noise_before_unscaling),
            ),
            "environment": (
                "added in the environment's units, clipped",
                make_noisy_formula(action_transforms.add_noise_after_unscaling),
            ),
            "unclipped_scaled": (
                "added in [-1, 1], not clipped",
                make_noisy_formula(action_transforms.add_noise_before_unscaling, False),
            ),
            "unclipped_environment": (
                "added in the environment's units, not clipped",
                make_noisy_formula(action_transforms.add_noise_after_unscaling, False),
            ),
            "tanh_only_upper_bound": (
                "added to a tanh that is never unscaled, in multiples of the upper bound, clipped",
                lambda i: action_transforms.clip_to_bounds(
                    np.tanh(i["pre_tanh"]) + i["high"] * np.asarray(i["noise"]), i["low"], i["high"]
                ),
            ),
            "none": (
                "no noise is added",
                lambda i: (
                    [action_transforms.squash_and_unscale(i["pre_tanh"], i["low"], i["high"])] * 2
                ),
            ),
        },
        consequence="The same number explores another share of the action range.",
    )


def _make_delayed_updates_detail() -> Detail:
    def make_delays_formula(
        policy_delay: tuple[int, int], target_delay: tuple[int, int]
    ) -> Formula:
        def mark_updates_of_policy_and_targets(inputs: Inputs) -> np.ndarray:
            n = int(inputs["updates"])
            return np.concatenate(
                [
                    td3.mark_delayed_updates(n, *policy_delay),
                    td3.mark_delayed_updates(n, *target_delay),
                ]
            )

        return mark_updates_of_policy_and_targets

    return make_detail(
        "td3.policy_delay",
        "Which updates move the policy, and which the target networks?",
        """The delay is ``delay``. The framework's loop makes critic updates 1..``updates`` from a
        fresh agent (learning rates and tau greater than 0, gradients not zero). Observed,
        [2 * updates]: for updates 1..updates 1.0 if any parameter of the policy changed in that
        update and else 0.0; then the same for the parameters of the target critics.""",
        ("thesis, algorithm 2", "thesis, section 5.2, Update delay", "Fujimoto et al. 2018"),
        {"delay": 2, "updates": 6},
        {
            "delayed_together": ("both at 2, 4, 6", make_delays_formula((2, 0), (2, 0))),
            "delayed_together_from_first": ("both at 1, 3, 5", make_delays_formula((2, 1), (2, 1))),
            "targets_every_update": (
                "policy at 2, 4, 6, targets always",
                make_delays_formula((2, 0), (1, 0)),
            ),
            "targets_every_update_policy_from_first": (
                "policy at 1, 3, 5, targets always",
                make_delays_formula((2, 1), (1, 0)),
            ),
            "policy_every_update": (
                "policy always, targets at 2, 4, 6",
                make_delays_formula((1, 0), (2, 0)),
            ),
            "not_delayed": ("both always", make_delays_formula((1, 0), (1, 0))),
        },
        consequence="""Target networks and policy move more or less often per update of the critics
        than a tuned delay assumes.""",
    )


_CRITIC_LOSS = ("thesis, section 3.4.2", "Fujimoto et al. 2018, algorithm 1")

DETAILS: tuple[Detail, ...] = (
    critics.make_scale_detail("td3.critic_loss.scale", _CRITIC_LOSS),
    critics.make_reduction_detail("td3.critic_loss.reduction", _CRITIC_LOSS),
    critics.make_distance_detail("td3.critic_loss.distance", _CRITIC_LOSS),
    critics.make_target_minimum_detail(
        "td3.target.minimum",
        ("thesis, equations 15 and 19", "Fujimoto et al. 2018"),
        "The smoothing noise is 0, or the target networks ignore the action. ",
        {},
    ),
    _make_target_bootstrap_detail(),
    _make_target_noise_law_detail(),
    make_detail(
        "td3.target_noise.bounds",
        "Is the smoothed target action clipped to the bounds of its own dimension?",
        _SMOOTHED
        + _EACH_DRAWN
        + """Two action dimensions; a' is [samples, 2]. Observed, [4]: per dimension the fraction of
        samples with a' above ``high`` by more than 1e-4 of the range; the same below ``low``, with
        the policy at minus ``squashed``.""",
        ("thesis, equation 18", "Fujimoto et al. 2018, section 5.3"),
        {"squashed": 1.0, "low": [-2.0, -1.0], "high": [6.0, 1.0], "samples": 100_000, "seed": 0},
        {
            "own_bounds": ("each dimension within its bounds", lambda i: np.zeros(4)),
            "first_dimension": (
                "every dimension clipped to the bounds of the first",
                lambda i: np.array([0.0, 0.5, 0.0, 0.5]),
            ),
            "unclipped": ("not clipped to the bounds", lambda i: np.full(4, 0.5)),
        },
        # A fraction near 1/2 of 100 000 samples has a standard error of 0.0016, 0.32 % of 1/2; the
        # few samples nearer to the bound than the threshold lower it by less than 0.1 %.
        tolerance=0.016,
        consequence="""Where the bounds differ between dimensions, targets are evaluated at actions
        that the environment never receives.""",
    ),
    make_detail(
        "td3.target_noise.draw",
        "Does every sample of the batch get its own target noise?",
        _SMOOTHED
        + """d = (a' - centre of the bounds), [samples]. Observed, [1]: the standard deviation of d
        over the samples (divisor n) divided by the root of the mean of d^2.""",
        ("thesis, equation 18", "Fujimoto et al. 2018, section 5.3"),
        {"squashed": 0.0, "low": -2.0, "high": 6.0, "samples": 100_000, "seed": 0},
        {
            "per_sample": ("one draw per sample", lambda i: 1.0),
            "shared_over_batch": ("one draw for the whole batch", lambda i: 0.0),
        },
        # 1 - ratio is half of the squared mean over the variance: of the order of 1e-5.
        tolerance=0.01,
        consequence="""A noise shared by the whole batch does not average out: targets of one update
        are all shifted alike.""",
    ),
    _make_action_bounding_detail(),
    _make_exploration_noise_detail(),
    _make_actor_loss_detail(),
    _make_delayed_updates_detail(),
    critics.make_soft_update_detail(
        "td3.target_update.polyak",
        ("thesis, section 3.2", "thesis, section 5.2, Target network updating"),
        critics.FILLED_ALL,
        critics.TARGETS_OF_ALL,
        3,
    ),
)
